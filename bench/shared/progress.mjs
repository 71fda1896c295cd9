/** Tells somebody who watches where we are; an empty text clears the line. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
