import { reported, type Reporter } from '@ambit/host';

/** From here on, `Infinity` included, Node fires a timer at once. */
const TOO_LONG_MS = 2 ** 31;

/** None where the time is too long for a timer of Node. */
export function startTimer(call: () => void, ms: number): NodeJS.Timeout | undefined {
  return ms >= TOO_LONG_MS ? undefined : setTimeout(call, ms);
}

/** How long {@link within} waits. */
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
 *
 * @example
 * ```ts
 * import { within } from '@ambit/http/host';
 *
 * const disposing = Promise.resolve();
 * await within(disposing, { ms: 5000, onPassed: () => new Error('The disposal takes too long') });
 * ```
 */
export function within<T>(work: Promise<T>, { ms, onPassed }: TimeLimit): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = startTimer(() => reject(onPassed()), ms);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}

const REPORT_TIMEOUT_MS = 5000;

/** Calls the application's reporter, and waits for one that hangs five seconds at most. Never rejects. */
export async function reportedInTime(reporter: Reporter<undefined>, error: unknown): Promise<void> {
  const reporting = reported(reporter, error, undefined);
  await new Promise<void>((resolve) => {
    const timer = startTimer(resolve, REPORT_TIMEOUT_MS);
    void reporting.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
