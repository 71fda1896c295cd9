// In place of `@vitest/utils/timers`. The timer by which the runner reports its progress would come due while a test has a transaction of a Durable
// Object open: it waits there for the transaction, and all timers that the transaction waits for wait behind it.
const setLongTimeout = (call: () => void, ms: number): unknown => (ms < 1000 ? undefined : setTimeout(call, ms));

export const getSafeTimers = (): object => ({
  ...globalThis,
  setTimeout: setLongTimeout,
  clearTimeout,
  nextTick: process.nextTick,
});
export const setSafeTimers = (): void => undefined;
