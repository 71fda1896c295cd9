import type { Dialect } from 'kysely';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { KyselyDialect } from '../kysely/driver.js';
import { transactionOfConnection } from '../target.js';
import { dialectOver, entityManagerIn, type MikroEntityManager, type MikroOrm } from './orm.js';

export type { MikroEntityManager, MikroOrm } from './orm.js';

/**
 * What MikroORM takes as `driverOptions`, so that it opens no connections of its own: queries outside of transactions go to
 * `pool`. It begins no transaction, so `flush()` outside of a transaction scope is refused; the container closes `pool`.
 *
 * @param pool - the pool of the application
 * @param dialect - the SQL that the database speaks. Default `postgres`
 * @returns the option `driverOptions` of MikroORM
 * @throws `TransactionError` `AMBIT_OPTION`: the dialect is not known
 *
 * @example
 * ```ts
 * import type { IDatabasePool } from '@ambit/transaction';
 * import { mikroOrmDialect } from '@ambit/orm/mikro-orm';
 *
 * // new MikroORM({ driver: PostgreSqlDriver, dbName: 'shop', entities, ...connectionOptions(pool) })
 * const connectionOptions = (pool: IDatabasePool): object => ({
 *   driverOptions: mikroOrmDialect(pool),
 *   ensureDatabase: false,
 * });
 * ```
 */
export function mikroOrmDialect(pool: IDatabasePool, dialect: KyselyDialect = 'postgres'): Dialect {
  return dialectOver(pool, dialect);
}

/**
 * A fork of MikroORM's `EntityManager` on the connection of a transaction scope, with an identity map of its own. It flushes
 * before COMMIT, and its queries are statements of that transaction. `em.transactional()` is a nested run in it, like
 * `runInTransaction()` in a transaction scope. Nothing that MikroORM does can commit; after the transaction has completed,
 * every query rejects with `AMBIT_TX_FINISHED`.
 *
 * @param connection - the `IConnection` of a transaction scope
 * @param orm - one MikroORM for the application, with the `driverOptions` of `mikroOrmDialect()`
 * @returns an `EntityManager` for this transaction, cheap enough to create per transaction
 * @throws `TransactionError` `AMBIT_OPTION`: `connection` is not that of a transaction scope, or `orm` was opened without
 *   the `driverOptions` of `mikroOrmDialect()`
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { type MikroEntityManager, type MikroOrm, mikroOrmOn } from '@ambit/orm/mikro-orm';
 *
 * async function inUnitOfWork<EM extends MikroEntityManager>(
 *   requestScope: IContainer,
 *   orm: MikroOrm<EM>,
 *   work: (em: EM) => Promise<void>,
 * ): Promise<void> {
 *   await runInTransaction(requestScope, (scope) => work(mikroOrmOn(scope.resolve<IConnection>('IConnection'), orm)));
 * }
 * ```
 */
export function mikroOrmOn<EM extends MikroEntityManager>(connection: IConnection, orm: MikroOrm<EM>): EM {
  return entityManagerIn(transactionOfConnection(connection, 'mikroOrmOn()'), orm);
}
