import { existsSync } from 'node:fs';
import { sqlStateOf } from '@ambit/transaction';
import type { Config, DatabaseConfig } from '../config/config.js';
import { type Queryable, sqliteFile } from './pool.js';
import { DatabaseUnusableError, reasonOf, unusable } from './unusable.js';
import { whenAvailable } from './when-available.js';

/** A missing table or column; SQLite has no codes for these. */
const ABSENT: ReadonlySet<unknown> = new Set(['42P01', '42703']);
const ABSENT_IN_SQLITE = /^no such (?:table|column)\b/;

/** Called before the pool is created, because SQLite would create the file. */
export function requireFile(database: DatabaseConfig): void {
  if (database.kind === 'sqlite' && !existsSync(sqliteFile(database.folder))) throw noServiceDatabase(database);
}

/** Refuses a database in which no service has ever started. */
export async function requireTables(
  pool: Queryable,
  { database, startTimeoutMs }: Pick<Config, 'database' | 'startTimeoutMs'>,
): Promise<void> {
  const readTables = async (): Promise<void> =>
    void (await pool.query('SELECT name, checksum FROM migrations LIMIT 1'));
  try {
    await whenAvailable(readTables, startTimeoutMs, () => undefined);
  } catch (error) {
    if (ABSENT.has(sqlStateOf(error)) || ABSENT_IN_SQLITE.test(reasonOf(error)))
      throw noServiceDatabase(database, error);
    throw unusable(error, database);
  }
}

function noServiceDatabase(database: DatabaseConfig, cause?: unknown): DatabaseUnusableError {
  const [where, name] =
    database.kind === 'sqlite' ? [`in the folder ${database.folder}`, 'DATA_DIR'] : ['at DATABASE_URL', 'DATABASE_URL'];
  const what = `There is no database of the service ${where}`;
  return new DatabaseUnusableError(`${what}. Correct ${name}, or start the service once: it creates the tables.`, {
    cause,
  });
}
