import { type Clock, startTimer } from '../core/clock.js';
import { isBusy, translated } from './errors.js';

const LONGEST_PAUSE_MS = 20;

export interface RetryOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Called before every further attempt. */
  readonly isWanted?: () => boolean;
}

/** Does it at once, or as soon as no other process is in the way. */
export function whenFree<T>(attempt: () => T, options: RetryOptions): T | Promise<T> {
  try {
    return attempt();
  } catch (error) {
    if (!isBusy(error) || options.timeoutMs === 0) throw translated(error);
    return retryBusy(attempt, error, options);
  }
}

/** With pauses between the attempts: SQLite's own waiting blocks the event loop. */
async function retryBusy<T>(attempt: () => T, busy: unknown, options: RetryOptions): Promise<T> {
  const { clock, timeoutMs, isWanted = () => true } = options;
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
