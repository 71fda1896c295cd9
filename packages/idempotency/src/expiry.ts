import { setImmediate as otherWork } from 'node:timers/promises';
import type { IDatabasePool } from '@ambit/transaction';
import type { KeyTable } from '@ambit/transaction/databases';

const HOUR_MS = 3_600_000;

/** Removes expired keys at start and every hour. An expired key counts as new before it is removed. */
export class Expiry {
  readonly #pool: Pick<IDatabasePool, 'getConnection' | 'query'>;
  readonly #table: KeyTable;
  readonly #lifetimeMs: number;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #isDisposed = false;

  constructor(
    pool: Pick<IDatabasePool, 'getConnection' | 'query'>,
    table: KeyTable,
    lifetimeMs: number,
    onError: (error: unknown) => void = warn,
  ) {
    this.#pool = pool;
    this.#table = table;
    this.#lifetimeMs = lifetimeMs;
    this.#onError = onError;
  }

  start(): void {
    if (this.#timer || this.#isDisposed) return;
    this.#timer = setInterval(() => void this.#tryToRemove(), HOUR_MS).unref();
    void this.#tryToRemove();
  }

  /** In batches: one statement for millions of keys would block SQLite, and time out on PostgreSQL. */
  async remove(): Promise<number> {
    let removed = 0;
    for (let after = -1; !this.#isDisposed;) {
      const ages = await this.#table.remove(this.#pool, after, this.#lifetimeMs);
      if (ages.length === 0) break;
      removed += ages.length;
      for (const age of ages) after = Math.max(after, age);
      await otherWork();
    }
    return removed;
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#isDisposed = true;
  }

  async #tryToRemove(): Promise<void> {
    try {
      await this.remove();
    } catch (error) {
      this.#onError(error);
    }
  }
}

function warn(cause: unknown): void {
  process.emitWarning(
    new Error('Expired idempotency keys were not removed; the next attempt is in an hour', { cause }),
  );
}
