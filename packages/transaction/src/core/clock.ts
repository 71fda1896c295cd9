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

/** Settles as `promise` does, or rejects with `late()` after `ms`. The work behind the promise continues. */
export function within<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stopTimer = startTimer(clock, () => reject(late()), ms);
    Promise.resolve(promise).then(
      (value) => {
        stopTimer();
        resolve(value);
      },
      (error: unknown) => {
        stopTimer();
        reject(error);
      },
    );
  });
}
