import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { DatabasePool, IDatabasePool } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool, type PostgresPoolOptions } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { Config, DatabaseConfig, PostgresConfig, ReplicatedConfig } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';
import { ExplainedError } from '../problem.js';
import { reasonOf, unusable } from './unusable.js';

/** Runs statements: the pool outside a transaction, the connection within one. */
export type Queryable = Pick<IDatabasePool, 'query'>;

/** How long shutdown waits for a statement whose client was disconnected before. */
const CLOSE_TIMEOUT_MS = 1000;

export function createPool(database: DatabaseConfig): DatabasePool {
  if (database.kind === 'postgres') return createPostgresPool(postgresOptions(database, database.url));
  const { folder, acquireTimeoutMs } = database;
  if (folder !== ':memory:') createFolder(folder);
  try {
    return createSqlitePool({ path: sqliteFile(folder), acquireTimeoutMs, closeTimeoutMs: CLOSE_TIMEOUT_MS });
  } catch (error) {
    throw unusable(error, database);
  }
}

/** Every one of them also accepts a server that has become the primary meanwhile: it is not used, and asked now and then. */
export function createReplicaPools(database: ReplicatedConfig): readonly DatabasePool[] {
  return database.replicas.urls.map((url) =>
    createPostgresPool({ ...postgresOptions(database, url), targetSessionAttrs: 'prefer-standby' }),
  );
}

function postgresOptions(database: PostgresConfig, connectionString: string): PostgresPoolOptions {
  return {
    connectionString,
    applicationName: 'ambit-service',
    max: database.poolSize,
    prepare: database.prepare,
    acquireTimeoutMs: database.acquireTimeoutMs,
    queryTimeoutMs: database.queryTimeoutMs,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
  };
}

/** The file of the embedded database, or `:memory:`. */
export function sqliteFile(folder: string): string {
  return folder === ':memory:' ? folder : join(folder, 'ambit.db');
}

function createFolder(folder: string): void {
  try {
    createFolders(resolve(folder));
  } catch (cause) {
    const what = `The folder ${folder} of DATA_DIR cannot be created: ${reasonOf(cause)}`;
    throw new ExplainedError(`${what}. Name a folder in which the service may write.`, 1, { cause });
  }
}

/** `mkdirSync` with `recursive` never returns below `/proc`. */
function createFolders(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    createFolders(dirname(folder));
    mkdirSync(folder);
  }
}

/** No request of the service holds a transaction for so long without a statement, even on a machine that is busy. */
const GAP_MS = 1000;

/** Checks the use of transactions where `TRANSACTION_CHECK` asks for it; otherwise it does nothing. */
export function createTransactionCheck({ transactionCheck: mode }: Config, logger: ILogger): TransactionCheck {
  return transactionCheck({
    enabled: mode !== 'off',
    mode: mode === 'throw' ? 'throw' : 'report',
    gapMs: GAP_MS,
    report: ({ message: msg, ...finding }) => logger.warn({ msg, finding }),
  });
}
