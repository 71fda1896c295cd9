import { existsSync } from 'node:fs';
import { type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import type { Config, DatabaseConfig } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';
import { migrate } from './migrate.js';
import {
  createPool,
  DatabaseUnusableError,
  dialectOf,
  type OnRetry,
  type Queryable,
  reasonOf,
  sqliteFile,
  unusable,
  whenAvailable,
} from './pool.js';

/** A statement of a migration may take longer than one of a request. */
const MIGRATION_STATEMENT_MS = 600_000;

/** Applies the migrations, and waits for a database that is not available yet. */
export async function prepareDatabase(
  pool: IDatabasePool,
  { database, startTimeoutMs }: Pick<Config, 'database' | 'startTimeoutMs'>,
  logger?: Pick<ILogger, 'warn'>,
): Promise<void> {
  const onRetry: OnRetry = (error, nextTryInMs) =>
    logger?.warn({ msg: 'the database cannot be used yet', why: reasonOf(error), nextTryInMs });
  const run = (on: IDatabasePool): Promise<void> => migrate(on, dialectOf(database), startTimeoutMs, onRetry);
  try {
    if (database.kind === 'sqlite') return await run(pool);
    const migrationPool = createPool({ ...database, poolSize: 1, queryTimeoutMs: MIGRATION_STATEMENT_MS });
    try {
      await run(migrationPool);
    } finally {
      await migrationPool.close();
    }
  } catch (error) {
    throw unusable(error, database);
  }
}

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
