import type { DatabasePool } from '../contract.js';
import { Pool } from '../pool/pool.js';
import { PostgresDriver } from './driver.js';
import { type PostgresPoolOptions, readPostgresOptions } from './options.js';

export type { PostgresPoolOptions } from './options.js';
export { splitHosts, type TargetSessionAttrs } from './options.js';

/**
 * A pool over the `pg` driver. It connects when first asked.
 *
 * @param options - the address, the size, and the time limits. Default: what libpq's environment variables say, such as `PGHOST`
 * @returns the pool; its `close()` closes the connections
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option; `AMBIT_TX_VERSION`: the installed `pg` is older than 8
 *
 * @example
 * ```ts
 * import { createPostgresPool } from '@ambit/transaction/postgres';
 *
 * async function now(): Promise<unknown> {
 *   const pool = createPostgresPool({ connectionString: 'postgres://localhost/shop', max: 8 });
 *   const rows = await pool.query('SELECT now() AS now');
 *   await pool.close();
 *   return rows[0]?.['now'];
 * }
 * ```
 */
export function createPostgresPool(options: PostgresPoolOptions = {}): DatabasePool {
  const settings = readPostgresOptions(options);
  return new Pool(new PostgresDriver(settings), settings);
}
