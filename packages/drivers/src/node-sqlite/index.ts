import type { DatabasePool } from '@ambit/transaction';
import {
  type DriverPoolOptions,
  type NodeSqlite,
  nodeSqliteEngine,
  sqlitePoolOver,
} from '@ambit/transaction/extension';

export type { DriverPoolOptions, NodeSqlite } from '@ambit/transaction/extension';

/**
 * A pool over a `DatabaseSync` of `node:sqlite`: one connection, handed out in turn. It needs Node 22.16, 24 or newer.
 *
 * @param database - the open database; `close()` closes it, unless `keepOpen` is set
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { fromNodeSqlite, type NodeSqlite } from '@ambit/drivers/node-sqlite';
 *
 * // database is a new DatabaseSync('shop.db') of node:sqlite.
 * const poolOver = (database: NodeSqlite) => fromNodeSqlite(database);
 * ```
 */
export function fromNodeSqlite(database: NodeSqlite, options: DriverPoolOptions = {}): DatabasePool {
  return sqlitePoolOver(nodeSqliteEngine(database), options);
}
