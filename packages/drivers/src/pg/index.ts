import type { DatabasePool } from '@ambit/transaction';
import { type DriverPoolOptions, poolOver, POSTGRES_LANGUAGE } from '@ambit/transaction/extension';
import { type PgClient, PgClients, type PgPool, PgWire } from './wire.js';

export type { DriverPoolOptions } from '@ambit/transaction/extension';
export type { PgClient, PgPool } from './wire.js';

/** The default of `pg` itself. */
const DEFAULT_MAX = 10;

/**
 * A pool over a `pg.Pool` that the application has already, with its settings, its hooks and its other users. A client that is lost while
 * it is idle, as when the server restarts, is replaced by another; with `pg` alone the process exits, unless the pool has an `error` listener.
 *
 * @param pool - the `Pool` of `pg`; `close()` ends it, unless `keepOpen` is set
 * @param options - who may wait for a connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { fromPgPool } from '@ambit/drivers/pg';
 * import pg from 'pg';
 *
 * const pool = fromPgPool(new pg.Pool({ connectionString: 'postgres://localhost/shop', max: 8 }));
 * ```
 */
export function fromPgPool(pool: PgPool, options: DriverPoolOptions = {}): DatabasePool {
  // The pool removes an idle client that was lost; without a listener the process would exit.
  pool.on?.('error', () => {});
  const clients = new PgClients();
  // The server may close a session in the same packet that opens it: before the caller of connect() can listen.
  pool.on?.('acquire', (client) => void clients.of(client as PgClient));
  const driver = {
    language: POSTGRES_LANGUAGE,
    max: pool.options?.max ?? DEFAULT_MAX,
    get size() {
      return { open: pool.totalCount, idle: pool.idleCount };
    },
    connect: async () => {
      const client = await pool.connect();
      return new PgWire(client, await clients.checkedOut(client));
    },
    close: () => pool.end(),
  };
  return poolOver(driver, options);
}
