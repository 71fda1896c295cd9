import { setTimeout as pause } from 'node:timers/promises';
import { isTemporary } from '@ambit/transaction';
import { isTlsFault } from './tls-fault.js';

const FIRST_PAUSE_MS = 250;
const LAST_PAUSE_MS = 1000;

/** Called before each pause between two attempts. */
export type OnRetry = (error: unknown, pauseMs: number) => void;

/** Retries while the database is not available, for example because it is starting. */
export async function whenAvailable(work: () => Promise<void>, waitMs: number, onRetry: OnRetry): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error) || isTlsFault(error) || Date.now() + pauseMs > deadline) throw error;
      onRetry(error, pauseMs);
      await pause(pauseMs);
    }
  }
}
