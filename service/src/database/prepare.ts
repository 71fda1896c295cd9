import type { DatabasePool, IDatabasePool } from '@ambit/transaction';
import { type Config, ConfigError, placeOf } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';
import { ExplainedError } from '../problem.js';
import type { IEngine, ISqlDialect, Queryable } from './engine.js';
import { engineOf } from './engines.js';
import { migrate } from './migrate.js';
import { explained, type OnRetry, reasonOf, whenAvailable } from './unusable.js';

/** Applies the migrations, and waits for a database that is not available yet. */
export async function prepareDatabase(
  pool: IDatabasePool,
  engine: IEngine,
  { database, startTimeoutMs }: Pick<Config, 'database' | 'startTimeoutMs'>,
  logger?: Pick<ILogger, 'warn'>,
): Promise<void> {
  const onRetry: OnRetry = (error, nextTryInMs) =>
    logger?.warn({
      msg: 'the database cannot be used yet',
      why: reasonOf(error),
      place: placeOf(database),
      nextTryInMs,
    });
  const migrationPool = engine.createMigrationPool();
  try {
    await migrate(migrationPool ?? pool, engine, startTimeoutMs, onRetry);
  } catch (error) {
    throw explained(error, engine);
  } finally {
    await migrationPool?.close();
  }
}

/** Runs a command on the database of a service, which may be in use. `inMemory` is why it cannot run on one within a process. */
export async function withDatabase(
  config: Config,
  inMemory: string,
  run: (pool: DatabasePool, dialect: ISqlDialect) => Promise<string[]>,
): Promise<string[]> {
  const engine = engineOf(config.database);
  if (engine.isInMemory) throw new ConfigError([inMemory]);
  // SQLite would create the file.
  if (!engine.exists()) throw noServiceDatabase(engine);
  const pool = engine.createPool();
  try {
    await requireTables(pool, engine, config);
    await prepareDatabase(pool, engine, config);
    return await run(pool, engine.dialect);
  } finally {
    await pool.close();
  }
}

/** Refuses a database in which no service has ever started. */
async function requireTables(
  pool: Queryable,
  engine: IEngine,
  { startTimeoutMs }: Pick<Config, 'startTimeoutMs'>,
): Promise<void> {
  const readTables = async (): Promise<void> =>
    void (await pool.query('SELECT name, checksum FROM migrations LIMIT 1'));
  try {
    await whenAvailable(readTables, startTimeoutMs, () => undefined);
  } catch (error) {
    throw engine.isAbsence(error) ? noServiceDatabase(engine, error) : explained(error, engine);
  }
}

function noServiceDatabase({ place: { where, variable } }: IEngine, cause?: unknown): ExplainedError {
  const what = `There is no database of the service ${where}`;
  const advice = `Correct ${variable}, or start the service once: it creates the tables.`;
  return new ExplainedError(`${what}. ${advice}`, 1, { cause });
}
