import type { DataSource, EntityManager } from 'typeorm';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { transactionOfConnection } from '../target.js';
import { type PgModule, pgModuleOver } from './pg-module.js';
import { queryRunnerIn } from './query-runner.js';

/**
 * What a `DataSource` of type `postgres` takes as `driver`, so that it opens no connections of its own: reads outside of
 * transactions go to `pool`. It begins no transaction, so `dataSource.manager.save()` is refused; the container closes `pool`.
 *
 * @param pool - a pool for PostgreSQL
 * @returns the option `driver` of a `DataSource`
 *
 * @example
 * ```ts
 * import type { IDatabasePool } from '@ambit/transaction';
 * import { typeormDriver } from '@ambit/orm/typeorm';
 * import { DataSource, EntitySchema } from 'typeorm';
 *
 * const Stock = new EntitySchema<{ product: string; level: number }>({
 *   name: 'stock',
 *   columns: { product: { type: 'text', primary: true }, level: { type: 'int' } },
 * });
 *
 * function openDataSource(pool: IDatabasePool): Promise<DataSource> {
 *   return new DataSource({ type: 'postgres', driver: typeormDriver(pool), entities: [Stock] }).initialize();
 * }
 * ```
 */
export function typeormDriver(pool: IDatabasePool): PgModule {
  return pgModuleOver(pool);
}

/**
 * TypeORM's `EntityManager` on the connection of a transaction scope: what it saves and reads are statements of that
 * transaction. `manager.transaction()` and `queryRunner.startTransaction()` are nested runs in it, like `runInTransaction()`
 * in a transaction scope. Nothing that TypeORM does can commit; after the transaction has completed, every query rejects
 * with `AMBIT_TX_FINISHED`. Subscribers are notified of the commit or the rollback of the whole transaction, once.
 *
 * @param connection - the `IConnection` of a transaction scope
 * @param dataSource - initialised, one for the application
 * @returns an `EntityManager` for this transaction, cheap enough to create per transaction; it needs no `release()`
 * @throws `TransactionError` `AMBIT_OPTION`: `connection` is not that of a transaction scope
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { typeormOn } from '@ambit/orm/typeorm';
 * import type { DataSource } from 'typeorm';
 *
 * async function take(requestScope: IContainer, dataSource: DataSource, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const manager = typeormOn(scope.resolve<IConnection>('IConnection'), dataSource);
 *     await manager.decrement('stock', { product }, 'level', 1);
 *   });
 * }
 * ```
 */
export function typeormOn(connection: IConnection, dataSource: DataSource): EntityManager {
  return queryRunnerIn(transactionOfConnection(connection, 'typeormOn()'), dataSource).manager;
}
