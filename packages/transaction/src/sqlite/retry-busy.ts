import { type Clock, startTimer } from '../core/clock.js';
import { isBusy, translated } from './errors.js';

const LONGEST_PAUSE_MS = 20;

export interface Patience {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Asked before every further attempt. */
  readonly given?: () => boolean;
}

/** Tries until the other process is out of the way, with pauses in between: SQLite's own waiting blocks the event loop. */
export function whenFree<T>(attempt: () => T, patience: Patience): T | Promise<T> {
  try {
    return attempt();
  } catch (error) {
    if (!isBusy(error) || patience.timeoutMs === 0) throw translated(error);
    return tryAgain(attempt, error, patience);
  }
}

async function tryAgain<T>(attempt: () => T, busy: unknown, patience: Patience): Promise<T> {
  const { clock, timeoutMs, given = () => true } = patience;
  const deadline = clock.now() + timeoutMs;
  let last = busy;
  for (let tries = 1; ; tries += 1) {
    const pause = (0.5 + clock.random() / 2) * Math.min(tries, LONGEST_PAUSE_MS);
    await new Promise<void>((resolve) => void startTimer(clock, resolve, pause));
    if (!given()) throw translated(last);
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || clock.now() >= deadline) throw translated(error);
      last = error;
    }
  }
}
