import { setImmediate as otherWork } from 'node:timers/promises';
import { executeOn, type IDatabasePool } from '@ambit/transaction';
import type { ILogger } from '../logging/logger.js';

const HOUR_MS = 3_600_000;

export const KEY_LIFETIME_MS = 24 * HOUR_MS;

const BATCH_SIZE = 1000;

/** Selects the oldest keys by their age, so a key that a new request takes over meanwhile is not among them. */
const DELETE_BATCH = `DELETE FROM idempotency_keys WHERE created_at <= (
     SELECT max(created_at) FROM (
       SELECT created_at FROM idempotency_keys WHERE created_at <= $1 ORDER BY created_at LIMIT ${BATCH_SIZE}
     ) AS oldest
   )`;

/** Application-wide: deletes expired keys at start and every hour. An expired key counts as new before it is deleted. */
export class ExpiredKeys {
  #timer: NodeJS.Timeout | undefined;
  #disposed = false;

  constructor(
    private readonly pool: IDatabasePool,
    private readonly logger: ILogger,
  ) {}

  start(): void {
    void this.#tryToRemove();
    this.#timer = setInterval(() => void this.#tryToRemove(), HOUR_MS).unref();
  }

  /** In batches: one statement for millions of keys would block SQLite, and time out on PostgreSQL. */
  async remove(): Promise<void> {
    const expiry = Date.now() - KEY_LIFETIME_MS;
    while (!this.#disposed) {
      const { rowCount } = await executeOn(this.pool, DELETE_BATCH, [expiry]);
      if (rowCount === 0) return;
      await otherWork();
    }
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#disposed = true;
  }

  async #tryToRemove(): Promise<void> {
    try {
      await this.remove();
    } catch (err) {
      this.logger.warn({ msg: 'Expired idempotency keys were not deleted; the next attempt is in an hour', err });
    }
  }
}
