import { type DatabasePool, TransactionError } from '@ambit/transaction';
import { type DriverPoolOptions, poolOver, POSTGRES_LANGUAGE } from '@ambit/transaction/extension';
import { Connections, type PostgresJs, PostgresJsWire } from './wire.js';

export type { DriverPoolOptions } from '@ambit/transaction/extension';
export type { PostgresJs, PostgresJsReserved } from './wire.js';

/**
 * A pool over postgres.js, the driver of the npm package `postgres`.
 *
 * @param sql - what `postgres()` returned; `close()` ends it, unless `keepOpen` is set
 * @param options - who may wait for a connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { fromPostgresJs, type PostgresJs } from '@ambit/drivers/postgres-js';
 *
 * // sql is what postgres('postgres://localhost/shop') returned.
 * const poolOver = (sql: PostgresJs) => fromPostgresJs(sql);
 * ```
 */
export function fromPostgresJs(sql: PostgresJs, options: DriverPoolOptions = {}): DatabasePool {
  // It came with 3.4, and code without types may pass anything.
  if (typeof (sql as Partial<PostgresJs>).reserve !== 'function') {
    const what =
      'fromPostgresJs() needs what postgres() of postgres.js returned, from version 3.4 on, which has reserve()';
    throw new TransactionError('AMBIT_TX_VERSION', what);
  }
  const connections = new Connections(sql);
  const driver = {
    language: POSTGRES_LANGUAGE,
    max: sql.options.max,
    connect: async () => new PostgresJsWire(await connections.reserve(), sql.options, connections),
    close: (ms: number) => sql.end(Number.isFinite(ms) ? { timeout: ms / 1000 } : {}),
  };
  return poolOver(driver, options);
}
