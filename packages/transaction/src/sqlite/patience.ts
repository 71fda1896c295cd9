import { type Clock, startTimer } from '../clock.js';
import { isBusy, translated } from './errors.js';

const LONGEST_PAUSE_MS = 20;

export interface Patience {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Asked before every further attempt. */
  readonly given?: () => boolean;
}

/** Tries until the other process is out of the way, with pauses in between: SQLite's own waiting blocks the event loop. */
export async function whenFree<T>(attempt: () => T, { clock, timeoutMs, given = () => true }: Patience): Promise<T> {
  let deadline: number | undefined;
  for (let tries = 1; ; tries += 1) {
    try {
      return attempt();
    } catch (error) {
      deadline ??= clock.now() + timeoutMs;
      if (!isBusy(error) || clock.now() >= deadline || !given()) throw translated(error);
    }
    const pause = (0.5 + clock.random() / 2) * Math.min(tries, LONGEST_PAUSE_MS);
    await new Promise<void>((resolve) => void startTimer(clock, resolve, pause));
  }
}
