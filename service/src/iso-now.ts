let second = NaN;
let start = '';

/** The result of `new Date().toISOString()`, which is slow: all but the milliseconds is formatted once a second. */
export function isoNow(): string {
  const now = Date.now();
  const ms = now % 1000;
  if (now - ms !== second) {
    second = now - ms;
    start = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  return `${start}${String(ms).padStart(3, '0')}Z`;
}

/** The same as a field within a line of JSON, the form in which pino expects it. */
export const timeField = (): string => `,"time":"${isoNow()}"`;
