import type { Casing, ExtractTablesWithRelations } from 'drizzle-orm';
import * as core from 'drizzle-orm/sqlite-core';
import type { ExecuteResult, IConnection, IDatabasePool } from '@ambit/transaction';
import { targetOf } from '../target.js';
import { type DrizzleOptions, loggerOf, relationsOf } from './config.js';
import { NumberedSqliteDialect, ScopedSqliteSession } from './sqlite-session.js';

export type { DrizzleOptions } from './config.js';

/** Drizzle's asynchronous SQLite database; `run()` resolves to an `ExecuteResult`, with the number of changed rows. */
export type ScopedSqliteDatabase<Schema extends Record<string, unknown> = Record<string, never>> =
  core.BaseSQLiteDatabase<'async', ExecuteResult, Schema, ExtractTablesWithRelations<Schema>>;

/** Shared by all transactions: a dialect remembers what the casing makes of each column. */
const DIALECTS: Readonly<Record<Casing | 'none', NumberedSqliteDialect>> = {
  none: new NumberedSqliteDialect(),
  camelCase: new NumberedSqliteDialect({ casing: 'camelCase' }),
  snake_case: new NumberedSqliteDialect({ casing: 'snake_case' }),
};

/**
 * Drizzle for SQLite on the connection of a transaction scope, or on a pool; the rest as on PostgreSQL.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool, on SQLite
 * @param options - as for `drizzle()`; pass the same `schema` object each time, as a module's namespace is
 * @returns a database, cheap enough to create per request and per transaction
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither
 *
 * @example
 * ```ts
 * import type { IConnection } from '@ambit/transaction';
 * import { drizzleOn } from '@ambit/orm/drizzle/sqlite';
 * import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
 *
 * const stock = sqliteTable('stock', { product: text().primaryKey(), level: integer().notNull() });
 *
 * async function add(connection: IConnection, product: string): Promise<number | null> {
 *   const { rowCount } = await drizzleOn(connection).insert(stock).values({ product, level: 1 }).run();
 *   return rowCount;
 * }
 * ```
 */
export function drizzleOn<Schema extends Record<string, unknown> = Record<string, never>>(
  database: IConnection | IDatabasePool,
  { schema, casing, logger }: DrizzleOptions<Schema> = {},
): ScopedSqliteDatabase<Schema> {
  const target = targetOf(database, 'drizzleOn()');
  const dialect = DIALECTS[casing ?? 'none'];
  const relations = relationsOf(schema);
  const session = new ScopedSqliteSession(target, dialect, relations, loggerOf(logger));
  const drizzle = new core.BaseSQLiteDatabase('async', dialect, session, session.relations);
  // The session knows no types of tables; what it gives is decided by the schema that it was made with.
  return drizzle as unknown as ScopedSqliteDatabase<Schema>;
}
