/** Timers of this length and longer ones, `Infinity` included, fire at once. */
const TOO_LONG_MS = 2 ** 31;

/**
 * Starts a timer, unless the time is too long for one: then there is no limit.
 *
 * @param call - called when the time is up
 * @param ms - the time in milliseconds
 * @returns what `clearTimeout()` is called with
 */
export function startTimer(call: () => void, ms: number): ReturnType<typeof setTimeout> | undefined {
  return ms >= TOO_LONG_MS ? undefined : setTimeout(call, ms);
}

/** The time that {@link settleWithin} waits. */
export interface TimeLimit {
  /** The time in milliseconds; `Infinity` for no limit. */
  readonly ms: number;
  /** Called when the time is up; returns what the waiting rejects with. */
  readonly onPassed: () => Error;
}

/**
 * Settles as `work` does, but rejects when that takes too long. The work itself goes on.
 *
 * @param work - what to wait for
 * @param options - the time limit, and the error at its end
 * @returns what `work` resolves to
 * @throws what `work` rejects with, or what `onPassed` returns
 */
export function settleWithin<T>(work: Promise<T>, { ms, onPassed }: TimeLimit): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = startTimer(() => reject(onPassed()), ms);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
