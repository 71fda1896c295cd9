import type { DatabasePool } from '../core/contract.js';
import type { DriverPoolOptions } from '../driver/options.js';
import { DriverPool } from '../driver/pool.js';
import { POSTGRES_LANGUAGE } from '../postgres/language.js';
import { type PostgresJs, PostgresJsWire } from './wire.js';

export type { DriverPoolOptions } from '../driver/options.js';
export type { PostgresJs, PostgresJsReserved } from './wire.js';

const CLOSE_SECONDS = 5;

/**
 * A pool over postgres.js, the driver of the npm package `postgres`.
 *
 * @param sql - what `postgres()` returned; `close()` ends it, unless `keepOpen` is set
 * @param options - who may wait for a connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_TX_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { fromPostgresJs, type PostgresJs } from '@ambit/transaction/postgres-js';
 *
 * // sql is what postgres('postgres://localhost/shop') returned.
 * const poolOver = (sql: PostgresJs) => fromPostgresJs(sql);
 * ```
 */
export function fromPostgresJs(sql: PostgresJs, options: DriverPoolOptions = {}): DatabasePool {
  let isLost = false;
  const connect = async (): Promise<PostgresJsWire> => {
    if (isLost) {
      isLost = false;
      await heal(sql);
    }
    return new PostgresJsWire(await sql.reserve(), sql.options.parsers, () => (isLost = true));
  };
  const driver = {
    language: POSTGRES_LANGUAGE,
    max: sql.options.max,
    connect,
    close: () => sql.end({ timeout: CLOSE_SECONDS }),
  };
  return new DriverPool(driver, options);
}

/** One query passes the error on, and one resets the place of the next row. */
const ROUNDS = 2;

/**
 * Where a connection was closed during a statement, postgres.js (3.4.9) gives what was left of it to the next caller of the
 * connection that replaces it: its error, with which a `reserve()` would keep that connection forever, and then a result
 * with holes. So queries of ours come first, on all connections, since nobody can choose one.
 */
async function heal(sql: PostgresJs): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const onAll = Array.from({ length: sql.options.max }, async () => sql.unsafe('SELECT 1'));
    await Promise.allSettled(onAll);
  }
}
