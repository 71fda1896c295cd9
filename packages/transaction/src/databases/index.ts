import { TransactionError } from '../errors.js';
import { shown } from '../options.js';
import { mariadb } from '../mariadb/dialect.js';
import { postgres } from '../postgres/dialect.js';
import { sqlite } from '../sqlite/dialect.js';
import type { Database } from './database.js';

export type { Database, SandboxDialect } from './database.js';
export type { Claim, ClaimedRow, DeadRow, EventTable } from './events.js';
export type { KeyTable } from './keys.js';

/** The databases that tables of this codebase can be in. */
export type DatabaseName = 'postgres' | 'sqlite' | 'mariadb';

/** A new database is one more line, and its folder. A sandbox recognizes its database in this order; SQLite takes whatever is left. */
export const DATABASES = { postgres, mariadb, sqlite } satisfies Readonly<Record<DatabaseName, Database>>;

/** It becomes part of statements and of the names of indexes, which PostgreSQL cuts at 63 characters. */
const TABLE_NAME = /^(?:[a-z_][a-z0-9_]{0,47}\.)?[a-z_][a-z0-9_]{0,47}$/;

/**
 * The SQL for a package that keeps a table of its own, whose name becomes a part of statements.
 *
 * @param options - the SQL that the database speaks, and the name of the table, maybe after a schema
 * @returns the SQL of that database
 * @throws `TransactionError` `AMBIT_OPTION`: one of them is invalid
 *
 * @example
 * ```ts
 * import { databaseOf } from '@ambit/transaction/databases';
 *
 * const table = 'shop.outbox';
 * console.log(databaseOf({ dialect: 'postgres', table }).events(table).schema);
 * ```
 */
export function databaseOf({ dialect, table }: { readonly dialect: unknown; readonly table: unknown }): Database {
  const database = Object.entries(DATABASES).find(([name]) => name === dialect)?.[1];
  if (!database)
    throw new TransactionError(
      'AMBIT_OPTION',
      `dialect must be 'postgres', 'sqlite' or 'mariadb', not ${shown(dialect)}`,
    );
  if (typeof table === 'string' && TABLE_NAME.test(table)) return database;
  const what = 'table must be a name of at most 48 lower-case letters, digits and underscores, maybe after a schema';
  throw new TransactionError('AMBIT_OPTION', `${what}, not ${shown(table)}`);
}
