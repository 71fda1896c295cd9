import type { DatabasePool } from '../core/contract.js';
import { type DriverPoolOptions, readDriverOptions } from '../pool/options.js';
import { Pool } from '../pool/pool.js';
import { POSTGRES_LANGUAGE } from '../postgres/language.js';
import { type PGlite, PGliteWire } from './wire.js';

export type { DriverPoolOptions } from '../pool/options.js';
export type { PGlite } from './wire.js';

/**
 * A pool over PGlite, which is PostgreSQL in this process: one connection, handed out in turn.
 *
 * @param database - the PGlite instance; `close()` closes it, unless `keepOpen` is set
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_TX_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { fromPGlite, type PGlite } from '@ambit/transaction/pglite';
 *
 * // database is a new PGlite('./shop').
 * const poolOver = (database: PGlite) => fromPGlite(database);
 * ```
 */
export function fromPGlite(database: PGlite, options: DriverPoolOptions = {}): DatabasePool {
  const driver = {
    language: POSTGRES_LANGUAGE,
    max: 1,
    connect: () => new PGliteWire(database),
    close: () => database.close(),
  };
  return new Pool(driver, readDriverOptions(options));
}
