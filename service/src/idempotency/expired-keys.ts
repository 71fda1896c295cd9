import { setImmediate as otherWork } from 'node:timers/promises';
import type { IDatabasePool } from '@ambit/transaction';
import type { ILogger } from '../logging/logger.js';

const HOUR_MS = 3_600_000;

export const KEY_LIFE_MS = 24 * HOUR_MS;

const MOST_AT_ONCE = 1000;

/** The oldest, by their age: a key that is claimed anew meanwhile is no longer among them. */
const REMOVE_SOME = `DELETE FROM idempotency_keys WHERE created_at <= (
     SELECT max(created_at) FROM (
       SELECT created_at FROM idempotency_keys WHERE created_at <= $1 ORDER BY created_at LIMIT ${MOST_AT_ONCE}
     ) AS oldest
   ) RETURNING 1 AS one`;

/** Application-wide: removes keys that are over, at start and every hour. They count as gone before they are removed. */
export class ExpiredKeys {
  #timer: NodeJS.Timeout | undefined;
  #over = false;

  constructor(
    private readonly pool: IDatabasePool,
    private readonly logger: ILogger,
  ) {}

  start(): void {
    void this.#tryToRemove();
    this.#timer = setInterval(() => void this.#tryToRemove(), HOUR_MS).unref();
  }

  /** A few at a time, and others in between: of millions one statement would block SQLite, and not end on PostgreSQL. */
  async remove(): Promise<void> {
    const expiry = Date.now() - KEY_LIFE_MS;
    while (!this.#over && (await this.pool.query(REMOVE_SOME, [expiry])).length > 0) await otherWork();
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#over = true;
  }

  async #tryToRemove(): Promise<void> {
    try {
      await this.remove();
    } catch (err) {
      this.logger.warn({ msg: 'Expired idempotency keys were not removed; the next try is in an hour', err });
    }
  }
}
