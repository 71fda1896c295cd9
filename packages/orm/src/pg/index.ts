import type { PoolClient } from 'pg';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { targetOf } from '../target.js';
import { ScopedPgClient } from './client.js';

/**
 * A client of node-postgres (`pg`) on the connection of a transaction scope, for code and libraries that take a `Client` or a
 * `PoolClient`: pgtyped, zapatos, DBOS's `enqueueInTransaction()` and others. Its statements are those of the transaction. BEGIN, COMMIT
 * and ROLLBACK that are sent through it begin, keep and undo a nested run; a COMMIT or ROLLBACK without a BEGIN through the same client is
 * refused with `AMBIT_TX_CONTROL_STATEMENT`. `release()` and `end()` do nothing. After the transaction has completed, every query rejects
 * with `AMBIT_TX_FINISHED`.
 *
 * On a pool, such as `IDatabasePool`: each query runs by itself, on any connection, and BEGIN is refused: `runInTransaction()`
 * begins transactions.
 *
 * What the database refuses is a `DatabaseError` of `pg`. Values have the types that `pg` gives, also over the pool of another driver.
 * Cursors and streams (`pg-cursor`, `pg-query-stream`) are refused with `AMBIT_TX_UNSUPPORTED`.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool, on PostgreSQL
 * @returns a client, cheap enough to create per transaction; each has one nested transaction at a time
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { pgClientOn } from '@ambit/orm/pg';
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const client = pgClientOn(scope.resolve<IConnection>('IConnection'));
 *     await client.query('UPDATE stock SET level = level - 1 WHERE product = $1', [product]);
 *   });
 * }
 * ```
 */
export function pgClientOn(database: IConnection | IDatabasePool): PoolClient {
  return new ScopedPgClient(targetOf(database, 'pgClientOn()')) as unknown as PoolClient;
}
