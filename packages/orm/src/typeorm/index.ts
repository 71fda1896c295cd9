import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { transactionOfConnection } from '../target.js';
import { type PgModule, pgModuleOver } from './pg-module.js';
import { queryRunnerIn, type TypeormDataSource } from './query-runner.js';

export type { TypeormDataSource, TypeormQueryRunner } from './query-runner.js';

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
 *
 * // new DataSource({ type: 'postgres', entities, ...connectionOptions(pool) })
 * const connectionOptions = (pool: IDatabasePool): object => ({ driver: typeormDriver(pool) });
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
 * import { type TypeormDataSource, typeormOn } from '@ambit/orm/typeorm';
 *
 * // inTransaction(scope, dataSource, (manager) => manager.decrement(Stock, { product }, 'level', 1))
 * async function inTransaction<M extends object>(
 *   requestScope: IContainer,
 *   dataSource: TypeormDataSource<M>,
 *   work: (manager: M) => Promise<unknown>,
 * ): Promise<void> {
 *   await runInTransaction(requestScope, (tx) => work(typeormOn(tx.resolve<IConnection>('IConnection'), dataSource)));
 * }
 * ```
 */
export function typeormOn<M extends object>(connection: IConnection, dataSource: TypeormDataSource<M>): M {
  return queryRunnerIn(transactionOfConnection(connection, 'typeormOn()'), dataSource).manager;
}
