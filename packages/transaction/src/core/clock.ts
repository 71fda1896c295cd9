import { startSharedTimer } from './shared-timers.js';

/** Time and chance, so that a test can control both. */
export interface Clock {
  now(): number;
  /** Calls `fn` after `ms`. The function it returns cancels the timer. */
  setTimer(fn: () => void, ms: number): () => void;
  /** A number in [0, 1). */
  random(): number;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer: startSharedTimer,
  random: () => Math.random(),
};

const nothing = (): void => undefined;

/** A timer that may be switched off: `Infinity` means never. */
export function startTimer(clock: Clock, fn: () => void, ms: number): () => void {
  // Node fires a delay beyond 2^31 - 1 ms at once, so such a delay counts as never.
  return ms >= 2 ** 31 ? nothing : clock.setTimer(fn, ms);
}

/** What was thrown, in an object because `undefined` can be thrown too. */
export interface Failure {
  readonly error: unknown;
}

/**
 * Calls `onSettled` once, when `promise` settles or after `ms`, with the failure if there is one. A callback instead of a
 * promise, because on the path of every transaction a promise that is awaited costs more than the timer.
 */
export function settleWithin(
  clock: Clock,
  ms: number,
  promise: PromiseLike<unknown>,
  late: () => Error,
  onSettled: (failure?: Failure) => void,
): void {
  let isSettled = false;
  const settle = (failure?: Failure): void => {
    if (isSettled) return;
    isSettled = true;
    stopTimer();
    onSettled(failure);
  };
  const stopTimer = startTimer(clock, () => settle({ error: late() }), ms);
  promise.then(
    () => settle(),
    (error: unknown) => settle({ error }),
  );
}

/** Settles as `promise` does, or rejects with `late()` after `ms`. The work behind the promise continues. */
export function within<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stopTimer = startTimer(clock, () => reject(late()), ms);
    Promise.resolve(promise).finally(stopTimer).then(resolve, reject);
  });
}
