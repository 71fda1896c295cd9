import type { DatabasePool } from '@ambit/transaction';
import { type DriverPoolOptions, poolOver, POSTGRES_LANGUAGE } from '@ambit/transaction/extension';
import { type PGlite, PGliteWire } from './wire.js';

export type { DriverPoolOptions } from '@ambit/transaction/extension';
export type { PGlite } from './wire.js';

/**
 * A pool over PGlite, which is PostgreSQL in this process: one connection, handed out in turn.
 *
 * @param database - the PGlite instance; `close()` closes it, unless `keepOpen` is set
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { fromPGlite, type PGlite } from '@ambit/drivers/pglite';
 *
 * // database is a new PGlite('./shop').
 * const poolOver = (database: PGlite) => fromPGlite(database);
 * ```
 */
export function fromPGlite(database: PGlite, options: DriverPoolOptions = {}): DatabasePool {
  const driver = {
    language: POSTGRES_LANGUAGE,
    max: 1,
    connect: async () => {
      // It waits for a `transaction()` of another user, who commits it.
      if (database.isInTransaction()) await database.exec('');
      return new PGliteWire(database);
    },
    close: () => database.close(),
  };
  return poolOver(driver, options);
}
