import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { DatabaseConfig } from '../config/config.js';
import { type ISqlDialect, postgresDialect, sqliteDialect } from './dialect.js';

/** What a repository needs to run statements: the pool outside of a transaction, its connection inside. */
export type Queryable = Pick<IDatabasePool, 'query'>;

/** For a statement at the end of the service: whoever wanted its answer was cut off before. */
const CLOSE_TIMEOUT_MS = 1000;

export function createPool(database: DatabaseConfig): IDatabasePool & AsyncDisposable {
  if (database.kind === 'postgres') {
    return createPostgresPool({
      connectionString: database.url,
      applicationName: 'ambit-service',
      max: database.poolSize,
      prepare: database.prepare,
      closeTimeoutMs: CLOSE_TIMEOUT_MS,
    });
  }
  return createSqlitePool({ path: fileIn(database.folder), closeTimeoutMs: CLOSE_TIMEOUT_MS });
}

function fileIn(folder: string): string {
  if (folder === ':memory:') return folder;
  mkdirSync(folder, { recursive: true });
  return join(folder, 'ambit.db');
}

export function dialectOf(database: DatabaseConfig): ISqlDialect {
  return database.kind === 'postgres' ? postgresDialect : sqliteDialect;
}
