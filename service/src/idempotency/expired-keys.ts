import { setImmediate as otherWork } from 'node:timers/promises';
import { executeOn, type IDatabasePool } from '@ambit/transaction';
import type { ILogger } from '../logging/logger.js';

const HOUR_MS = 3_600_000;

export const KEY_LIFETIME_MS = 24 * HOUR_MS;

const BATCH_SIZE = 1000;

/**
 * Selects the oldest keys by their age, so a key that a new request takes over meanwhile is not among them. It begins after
 * `$1`, the end of the batch before: PostgreSQL would otherwise pass over all rows deleted so far, again for each batch.
 */
const DELETE_BATCH = `DELETE FROM idempotency_keys WHERE created_at > $1 AND created_at <= (
     SELECT max(created_at) FROM (
       SELECT created_at FROM idempotency_keys WHERE created_at > $1 AND created_at <= $2
       ORDER BY created_at LIMIT ${BATCH_SIZE}
     ) AS oldest
   ) RETURNING created_at`;

interface DeletedRow {
  /** Text where the driver gives 64 bits as text. */
  readonly created_at: number | string;
}

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
    let deletedUntil = -1;
    while (!this.#disposed) {
      const { rows } = await executeOn<DeletedRow>(this.pool, DELETE_BATCH, [deletedUntil, expiry]);
      if (rows.length === 0) return;
      for (const { created_at: createdAt } of rows) deletedUntil = Math.max(deletedUntil, Number(createdAt));
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
