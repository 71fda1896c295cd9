import { existsSync, statSync } from 'node:fs';
import { type DatabasePool, type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import { type Config, ConfigError, type DatabaseConfig } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';
import { ExplainedError } from '../problem.js';
import { dialectOf } from './dialect.js';
import { migrate } from './migrate.js';
import { createPool, type Queryable, sqliteFile } from './pool.js';
import { type OnRetry, reasonOf, unusable, whenAvailable } from './unusable.js';

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

/**
 * Refuses a file of SQLite in which a page is damaged, because SQLite itself finds damage only in the pages that it reads. After a stop
 * that was not clean there may be more than that: rows and indexes that disagree.
 */
export async function refuseDamage(pool: Queryable, database: DatabaseConfig): Promise<void> {
  if (database.kind !== 'sqlite' || database.folder === ':memory:') return;
  const wal = statSync(`${sqliteFile(database.folder)}-wal`, { throwIfNoEntry: false });
  const check = wal && wal.size > 0 ? 'integrity_check' : 'quick_check';
  const [found = {}] = await pool.query(`PRAGMA ${check}(1)`).catch((error: unknown) => {
    throw unusable(error, database);
  });
  const [what] = Object.values(found);
  if (what !== 'ok') throw unusable(Object.assign(new Error(String(what)), { code: 'XX001' }), database);
}

/** Runs a command on the database of a service, which may be in use. `inMemory` is why it cannot run on one within a process. */
export async function withDatabase(
  config: Config,
  inMemory: string,
  run: (pool: DatabasePool) => Promise<string[]>,
): Promise<string[]> {
  const { database } = config;
  if (database.kind === 'sqlite' && database.folder === ':memory:') throw new ConfigError([inMemory]);
  requireFile(database);
  const pool = createPool(database);
  try {
    await requireTables(pool, config);
    await prepareDatabase(pool, config);
    return await run(pool);
  } finally {
    await pool.close();
  }
}

/** A missing table or column; SQLite has no codes for these. */
const ABSENT: ReadonlySet<unknown> = new Set(['42P01', '42703']);
const ABSENT_IN_SQLITE = /^no such (?:table|column)\b/;

/** Called before the pool is created, because SQLite would create the file. */
function requireFile(database: DatabaseConfig): void {
  if (database.kind === 'sqlite' && !existsSync(sqliteFile(database.folder))) throw noServiceDatabase(database);
}

/** Refuses a database in which no service has ever started. */
async function requireTables(
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

function noServiceDatabase(database: DatabaseConfig, cause?: unknown): ExplainedError {
  const [where, name] =
    database.kind === 'sqlite' ? [`in the folder ${database.folder}`, 'DATA_DIR'] : ['at DATABASE_URL', 'DATABASE_URL'];
  const what = `There is no database of the service ${where}`;
  const advice = `Correct ${name}, or start the service once: it creates the tables.`;
  return new ExplainedError(`${what}. ${advice}`, 1, { cause });
}
