import knex, { type Knex } from 'knex';
import { type IConnection, type IDatabasePool, TransactionError } from '@ambit/transaction';
import { targetOf } from '../target.js';
import { type KnexClientName, scopedClientOf, type ScopedConfig } from './client.js';

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
 * Knex on a pool, such as `IDatabasePool`: each query runs by itself, outside of transactions. `knex.transaction()` and
 * `batchInsert()` are refused with `AMBIT_TX_CONTROL_STATEMENT`: `runInTransaction()` begins transactions.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool
 * @param options - the dialect, and what `knex()` takes that concerns no connections
 * @returns a `Knex`; it needs no `destroy()`, which does nothing
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither, or the dialect is not known
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { knexOn } from '@ambit/orm/knex';
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const db = knexOn(scope.resolve<IConnection>('IConnection'));
 *     await db('stock').where({ product }).decrement('level', 1);
 *   });
 * }
 * ```
 */
export function knexOn(database: IConnection | IDatabasePool, { client = 'pg', ...options }: KnexOptions = {}): Knex {
  const target = targetOf(database, 'knexOn()');
  if (client !== 'pg' && client !== 'sqlite3')
    throw new TransactionError('AMBIT_OPTION', `client must be pg or sqlite3, not ${String(client)}`);
  // Without it Knex warns of every client for SQLite.
  const defaults = client === 'sqlite3' ? { useNullAsDefault: true } : {};
  const config: ScopedConfig = {
    ...defaults,
    ...options,
    client: scopedClientOf(client) as unknown as typeof Knex.Client,
    target,
  };
  return knex(config);
}
