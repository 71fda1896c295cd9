import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { targetOf } from '../target.js';
import type { PostgresJs } from './library.js';
import { ScopedSql } from './sql.js';

/** What `postgres()` returns: `Sql`, or `Sql` with types of its own. */
export interface PostgresJsLike {
  /**
   * Makes a query of a template.
   *
   * @param template - the parts of the statement
   * @param parameters - what is between the parts: values, fragments and helpers
   * @returns a query, which is sent when it is awaited
   */
  (template: TemplateStringsArray, ...parameters: readonly never[]): PromiseLike<unknown>;
  /** What the library was configured with: types, transforms and others. */
  readonly options: object;
}

/**
 * The tagged template `sql` of postgres.js on the connection of a transaction scope: its queries are statements of that transaction, and its
 * errors are of `sql.PostgresError`. Fragments, helpers (`sql(values)`), `sql.array()`, `sql.json()`, types and transforms are those of the
 * application's own `sql`, which opens no connection for it. `sql.begin()` and `sql.savepoint()` are nested runs, like
 * `runInTransaction()` in a transaction scope. Nothing of it can commit; after the transaction has completed, every query rejects with
 * `AMBIT_TX_FINISHED`.
 *
 * On a pool, such as `IDatabasePool`: each query runs by itself, outside of transactions, and `sql.begin()` is refused:
 * `runInTransaction()` begins transactions.
 *
 * What needs a connection of the library's own is refused with `AMBIT_TX_UNSUPPORTED`: `listen()`, `subscribe()`, `largeObject()`, COPY, and
 * `describe()` and `cancel()` of a query.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool, on PostgreSQL
 * @param sql - one for the application, as `postgres()` returned it
 * @returns an `sql` of the same type, cheap enough to create per transaction; its `end()` does nothing
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { postgresJsOn } from '@ambit/orm/postgres-js';
 * import postgres from 'postgres';
 *
 * const application = postgres();
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const sql = postgresJsOn(scope.resolve<IConnection>('IConnection'), application);
 *     await sql`UPDATE stock SET level = level - 1 WHERE product = ${product}`;
 *   });
 * }
 * ```
 */
export function postgresJsOn<Sql extends PostgresJsLike>(database: IConnection | IDatabasePool, sql: Sql): Sql {
  const target = targetOf(database, 'postgresJsOn()');
  return new ScopedSql(target, sql as unknown as PostgresJs).sql as unknown as Sql;
}
