/** From here on, `Infinity` included, Node fires a timer at once. */
const TOO_LONG_MS = 2 ** 31;

/** None where the time is too long for a timer of Node. */
export function startTimer(call: () => void, ms: number): NodeJS.Timeout | undefined {
  return ms >= TOO_LONG_MS ? undefined : setTimeout(call, ms);
}
