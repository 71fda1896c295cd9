import type { Casing, ExtractTablesWithRelations } from 'drizzle-orm';
import { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { targetOf } from '../target.js';
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
 * Drizzle on a pool, such as `IDatabasePool`: each query runs by itself, outside of transactions. `db.transaction()` is refused
 * with `AMBIT_TX_CONTROL_STATEMENT`: `runInTransaction()` begins transactions.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool, on PostgreSQL
 * @param options - as for `drizzle()`; pass the same `schema` object each time, as a module's namespace is
 * @returns a database, cheap enough to create per request and per transaction
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { drizzleOn } from '@ambit/orm/drizzle';
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
  database: IConnection | IDatabasePool,
  { schema, casing, logger }: DrizzleOptions<Schema> = {},
): NodePgDatabase<Schema> {
  const target = targetOf(database, 'drizzleOn()');
  const dialect = DIALECTS[casing ?? 'none'];
  const relations = relationsOf(schema);
  const session = new ScopedPgSession<Schema, ExtractTablesWithRelations<Schema>>(
    target,
    dialect,
    relations,
    loggerOf(logger),
  );
  return new NodePgDatabase<Schema>(dialect, session, relations);
}
