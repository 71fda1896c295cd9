import type { DatabasePool } from '../contract.js';
import { Pool } from '../pool/pool.js';
import { SqliteDriver } from './driver.js';
import { loadSqlite } from './node-sqlite.js';
import { readSqliteOptions, type SqlitePoolOptions } from './options.js';

export { backupSqlite, type SqliteBackupOptions } from './backup.js';
export type { SqlitePoolOptions } from './options.js';

/**
 * A pool over one SQLite file, or `:memory:`, with the SQLite that Node has. It opens the file at once and fails at once.
 *
 * @param options - the file, how many may read it at a time, and time limits
 * @returns the pool; its `close()` closes the file
 * @throws `TransactionError` `AMBIT_TX_FILE`: the file cannot be opened or written
 * @throws `TransactionError` `AMBIT_TX_BUSY`: another process kept the file locked for 5 s
 * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: this Node has no SQLite; the message says what to install
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { createSqlitePool } from '@ambit/transaction/sqlite';
 *
 * async function count(): Promise<unknown> {
 *   const pool = createSqlitePool({ path: 'shop.db' });
 *   await pool.query('CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY)');
 *   const rows = await pool.query('SELECT count(*) AS users FROM users');
 *   await pool.close();
 *   return rows[0]?.['users'];
 * }
 * ```
 */
export function createSqlitePool(options: SqlitePoolOptions): DatabasePool {
  const settings = readSqliteOptions(options);
  return new Pool(new SqliteDriver(loadSqlite(), settings), settings);
}
