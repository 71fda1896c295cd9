import type { Casing, ExtractTablesWithRelations } from 'drizzle-orm';
import { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { IConnection } from '../core/contract.js';
import { transactionOfConnection } from '../orm/transaction-of-connection.js';
import { type DrizzleOptions, loggerOf, relationsOf } from './config.js';
import { ScopedPgSession } from './postgres-session.js';

export type { DrizzleOptions } from './config.js';

/** Shared by all transactions: a dialect remembers what the casing makes of each column. */
const DIALECTS: Readonly<Record<Casing | 'none', PgDialect>> = {
  none: new PgDialect(),
  camelCase: new PgDialect({ casing: 'camelCase' }),
  snake_case: new PgDialect({ casing: 'snake_case' }),
};

/**
 * Drizzle for PostgreSQL on the connection of a transaction scope: its queries are statements of that transaction.
 * `db.transaction()` is a nested run in it, like `runInTransaction()` in a transaction scope. Nothing that Drizzle does can
 * commit; after the transaction has completed, every query rejects with `AMBIT_TX_FINISHED`, which Drizzle wraps as the `cause`
 * of its `DrizzleQueryError`.
 *
 * @param connection - the `IConnection` of a transaction scope, on PostgreSQL
 * @param options - as for `drizzle()`; pass the same `schema` object each time, as a module's namespace is
 * @returns a database for this transaction, cheap enough to create per transaction
 * @throws `TransactionError` `AMBIT_TX_OPTION`: `connection` is not that of a transaction scope
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { drizzleOn } from '@ambit/transaction/drizzle';
 * import { eq, sql } from 'drizzle-orm';
 * import { integer, pgTable, text } from 'drizzle-orm/pg-core';
 *
 * const stock = pgTable('stock', { product: text().primaryKey(), level: integer().notNull() });
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const db = drizzleOn(scope.resolve<IConnection>('IConnection'));
 *     const less = { level: sql`${stock.level} - 1` };
 *     await db.update(stock).set(less).where(eq(stock.product, product));
 *   });
 * }
 * ```
 */
export function drizzleOn<Schema extends Record<string, unknown> = Record<string, never>>(
  connection: IConnection,
  { schema, casing, logger }: DrizzleOptions<Schema> = {},
): NodePgDatabase<Schema> {
  const transaction = transactionOfConnection(connection, 'drizzleOn()');
  const dialect = DIALECTS[casing ?? 'none'];
  const relations = relationsOf(schema);
  const session = new ScopedPgSession<Schema, ExtractTablesWithRelations<Schema>>(
    transaction,
    dialect,
    relations,
    loggerOf(logger),
  );
  return new NodePgDatabase<Schema>(dialect, session, relations);
}
