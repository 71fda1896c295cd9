import type { IDatabasePool } from '@ambit/transaction';
import type { ILogger } from '../logging/logger.js';

const HOUR_MS = 3_600_000;

export const KEY_LIFE_MS = 24 * HOUR_MS;

/** Application-wide: removes keys that are over, at start and every hour. They count as gone before they are removed. */
export class ExpiredKeys {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: IDatabasePool,
    private readonly logger: ILogger,
  ) {}

  async start(): Promise<void> {
    await this.#tryToRemove();
    this.#timer = setInterval(() => void this.#tryToRemove(), HOUR_MS).unref();
  }

  async remove(): Promise<void> {
    await this.pool.query('DELETE FROM idempotency_keys WHERE created_at <= $1', [Date.now() - KEY_LIFE_MS]);
  }

  dispose(): void {
    clearInterval(this.#timer);
  }

  async #tryToRemove(): Promise<void> {
    try {
      await this.remove();
    } catch (err) {
      this.logger.warn({ msg: 'Expired idempotency keys were not removed; the next try is in an hour', err });
    }
  }
}
