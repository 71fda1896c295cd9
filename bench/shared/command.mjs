/** @param {string | undefined} list names with commas between, or nothing for all */
export function pick(list, all, always = []) {
  if (!list) return all;
  const wanted = [...always, ...list.split(',')];
  const unknown = wanted.filter((it) => !all.includes(it));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}. There are ${all.join(', ')}`);
  return all.filter((it) => wanted.includes(it));
}

/** Tells somebody who watches where we are; an empty text clears the line. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
