import type { Kysely, KyselyPlugin } from 'kysely';
import type { IConnection } from '../core/contract.js';
import { transactionOfConnection } from '../orm/transaction-of-connection.js';
import type { KyselyDialect } from './dialects.js';
import { kyselyIn } from './kysely-in.js';

export type { KyselyDialect } from './dialects.js';

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
 * @param connection - the `IConnection` of a transaction scope
 * @param options - the dialect and Kysely's plugins
 * @returns a `Kysely` for this transaction, cheap enough to create per transaction; it needs no `destroy()`
 * @throws `TransactionError` `AMBIT_TX_OPTION`: `connection` is not that of a transaction scope, or the dialect is not known
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { kyselyOn } from '@ambit/transaction/kysely';
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
export function kyselyOn<DB>(connection: IConnection, options: KyselyOptions = {}): Kysely<DB> {
  const { dialect = 'postgres', plugins = [] } = options;
  return kyselyIn<DB>(transactionOfConnection(connection, 'kyselyOn()'), { dialect }, plugins);
}
