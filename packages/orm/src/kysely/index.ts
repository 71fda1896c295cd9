import type { Kysely, KyselyPlugin } from 'kysely';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { targetOf } from '../target.js';
import { type KyselyDialect, kyselyIn, kyselyOver } from './driver.js';

export type { KyselyDialect } from './driver.js';

/** How `kyselyOn()` makes a `Kysely`. */
export interface KyselyOptions {
  /** The SQL that Kysely writes. Default `postgres`. */
  readonly dialect?: KyselyDialect;
  /** Plugins of Kysely, such as `CamelCasePlugin`. Default: none. */
  readonly plugins?: readonly KyselyPlugin[];
}

/**
 * Kysely on the connection of a transaction scope: its queries are statements of that transaction. `db.transaction()` is a
 * nested run in it, like `runInTransaction()` in a transaction scope. Nothing that Kysely does can commit; after the
 * transaction has completed, every query rejects with `AMBIT_TX_FINISHED`.
 *
 * Kysely on a pool, such as `IDatabasePool`: each query runs by itself, outside of transactions. `db.connection()` checks a
 * connection out. `db.transaction()` is refused with `AMBIT_TX_CONTROL_STATEMENT`: `runInTransaction()` begins transactions.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool
 * @param options - the dialect and Kysely's plugins
 * @returns a `Kysely`, cheap enough to create per request and per transaction; it needs no `destroy()`, which does nothing
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither, or the dialect is not known
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { kyselyOn } from '@ambit/orm/kysely';
 *
 * interface Shop {
 *   stock: { product: string; level: number };
 * }
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const db = kyselyOn<Shop>(scope.resolve<IConnection>('IConnection'));
 *     const less = db.updateTable('stock').set((eb) => ({ level: eb('level', '-', 1) }));
 *     await less.where('product', '=', product).executeTakeFirstOrThrow();
 *   });
 * }
 * ```
 */
export function kyselyOn<DB>(database: IConnection | IDatabasePool, options: KyselyOptions = {}): Kysely<DB> {
  const { dialect = 'postgres', plugins = [] } = options;
  const { transaction, pool } = targetOf(database, 'kyselyOn()');
  return transaction ? kyselyIn(transaction, { dialect }, plugins) : kyselyOver(pool, { dialect }, plugins);
}
