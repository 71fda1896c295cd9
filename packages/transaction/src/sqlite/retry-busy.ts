import { type Clock, startTimer } from '../core/clock.js';
import { isBusy, translated } from './errors.js';

const LONGEST_PAUSE_MS = 20;

export interface RetryOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Called before every further attempt. */
  readonly isWanted?: () => boolean;
}

/**
 * After an attempt that failed with `busy`: tries again as soon as no other process is in the way, with pauses between the
 * attempts, because SQLite's own waiting blocks the event loop. Every other error is translated.
 */
export async function retryIfBusy<T>(attempt: () => T, busy: unknown, options: RetryOptions): Promise<T> {
  const { clock, timeoutMs, isWanted = () => true } = options;
  if (!isBusy(busy) || timeoutMs === 0) throw translated(busy);
  const deadline = clock.now() + timeoutMs;
  let last = busy;
  for (let tries = 1; ; tries += 1) {
    const pause = (0.5 + clock.random() / 2) * Math.min(tries, LONGEST_PAUSE_MS);
    await new Promise<void>((resolve) => void startTimer(clock, resolve, pause));
    if (!isWanted()) throw translated(last);
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || clock.now() >= deadline) throw translated(error);
      last = error;
    }
  }
}
