import type { IDatabasePool } from '@ambit/transaction';
import type { Config } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';
import { migrate } from './migrate.js';
import { createPool, dialectOf } from './pool.js';
import { reasonOf, unusable } from './unusable.js';
import type { OnRetry } from './when-available.js';

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
