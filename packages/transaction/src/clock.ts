import { startSharedTimer } from './shared-timers.js';

/** Time and chance, so that a test can own both. */
export interface Clock {
  now(): number;
  /** Calls `fn` after `ms`; what it returns calls it off. */
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

/** Settles as `promise` does, or rejects with `late()` after `ms`. The promise itself, of whatever kind, goes on. */
export function within<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const callOff = startTimer(clock, () => reject(late()), ms);
    const andCallOff =
      <A>(settle: (answer: A) => void) =>
      (answer: A): void => {
        callOff();
        settle(answer);
      };
    Promise.resolve(promise).then(andCallOff(resolve), andCallOff<unknown>(reject));
  });
}
