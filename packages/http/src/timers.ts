/** From here on, `Infinity` included, Node fires a timer at once. */
const TOO_LONG_MS = 2 ** 31;

/** None where the time is too long for a timer of Node. */
export function startTimer(call: () => void, ms: number): NodeJS.Timeout | undefined {
  return ms >= TOO_LONG_MS ? undefined : setTimeout(call, ms);
}

export interface TimeLimit {
  readonly ms: number;
  /** Called when the time is up; returns what the waiting rejects with. */
  readonly onPassed: () => Error;
}

/** Settles as `work` does, but rejects when that takes too long. */
export function within<T>(work: Promise<T>, { ms, onPassed }: TimeLimit): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = startTimer(() => reject(onPassed()), ms);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
