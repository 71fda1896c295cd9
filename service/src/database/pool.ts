import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { DatabaseConfig } from '../config/config.js';
import { type ISqlDialect, postgresDialect, sqliteDialect } from './dialect.js';

/** What a repository needs to run statements: the pool outside of a transaction, its connection inside. */
export type Queryable = Pick<IDatabasePool, 'query'>;

export function createPool(database: DatabaseConfig): IDatabasePool & AsyncDisposable {
  if (database.kind === 'postgres') {
    return createPostgresPool({
      connectionString: database.url,
      applicationName: 'ambit-service',
      max: database.poolSize,
      prepare: database.prepare,
    });
  }
  if (database.folder === ':memory:') return createSqlitePool({ path: ':memory:' });
  mkdirSync(database.folder, { recursive: true });
  return createSqlitePool({ path: join(database.folder, 'ambit.db') });
}

export function dialectOf(database: DatabaseConfig): ISqlDialect {
  return database.kind === 'postgres' ? postgresDialect : sqliteDialect;
}
