export interface TimeLimit {
  readonly ms: number;
  /** Called when the time is up; gives what the waiting rejects with. */
  readonly onPassed: () => Error;
}

/** From here on, `Infinity` included, Node fires a timer at once. */
const TOO_LONG_MS = 2 ** 31;

/** Settles as `work` does, but rejects when that takes too long. */
export function within<T>(work: Promise<T>, { ms, onPassed }: TimeLimit): Promise<T> {
  if (ms >= TOO_LONG_MS) return work;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(onPassed()), ms);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
