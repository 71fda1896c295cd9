import knex, { type Knex } from 'knex';
import type { IConnection } from '../core/contract.js';
import { transactionOfConnection } from '../orm/transaction-of-connection.js';
import { type KnexClientName, type ScopedConfig, scopedClientOf } from './client.js';

export type { KnexClientName } from './client.js';

/** What `knex()` takes, without what concerns connections. */
export interface KnexOptions extends Omit<
  Knex.Config,
  'acquireConnectionTimeout' | 'client' | 'connection' | 'connectionPool' | 'dialect' | 'migrations' | 'pool' | 'seeds'
> {
  /** The SQL that Knex writes. Default `pg`. */
  readonly client?: KnexClientName;
}

/**
 * Knex on the connection of a transaction scope: its queries are statements of that transaction. `knex.transaction()` is a
 * nested run in it, like `runInTransaction()` in a transaction scope. Nothing that Knex does can commit; after the
 * transaction has completed, every query rejects with `AMBIT_TX_FINISHED`.
 *
 * @param connection - the `IConnection` of a transaction scope
 * @param options - the dialect, and what `knex()` takes that concerns no connections
 * @returns a `Knex` for this transaction; it needs no `destroy()`
 * @throws `TransactionError` `AMBIT_TX_OPTION`: `connection` is not that of a transaction scope
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { knexOn } from '@ambit/transaction/knex';
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const db = knexOn(scope.resolve<IConnection>('IConnection'));
 *     await db('stock').where({ product }).decrement('level', 1);
 *   });
 * }
 * ```
 */
export function knexOn(connection: IConnection, { client = 'pg', ...options }: KnexOptions = {}): Knex {
  const transaction = transactionOfConnection(connection, 'knexOn()');
  // Without it Knex warns of every client for SQLite.
  const defaults = client === 'sqlite3' ? { useNullAsDefault: true } : {};
  const config: ScopedConfig = {
    ...defaults,
    ...options,
    client: scopedClientOf(client) as unknown as typeof Knex.Client,
    transaction,
  };
  return knex(config);
}
