import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type DatabasePool, type IDatabasePool, isTemporary, sqlStateOf } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool, type PostgresPoolOptions } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { Config, DatabaseConfig, PostgresConfig, ReplicatedConfig } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';

/** The driver's message when the server does not support TLS. */
const NO_TLS = 'The server does not support SSL connections';
/** Node's codes for certificates and keys that are refused or invalid. */
const REFUSED = /^(?:CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_|ERR_(?:TLS_CERT|OSSL_))/;

/** Whether a TLS setting of `DATABASE_URL` has to be corrected; of several hosts, for each of them. */
function isTlsFault(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isTlsFault);
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  // A certificate file cannot be opened, or is a folder. Sockets are never opened: their calls are `connect` and `read`.
  const isFileFault = syscall === 'open' || code === 'EISDIR';
  return error.message === NO_TLS || isFileFault || REFUSED.test(code) || isTlsFault(error.cause);
}

/** The database cannot be used; the message says in one line why, and what to do. */
export class DatabaseUnusableError extends Error {
  override readonly name = 'DatabaseUnusableError';
  readonly exitCode = 1;
}

const FOREIGN_DATABASE = 'This seems to be the database of another program. Let';
type Advice = Readonly<Record<string, string>>;

const POSTGRES: Advice = {
  '28000': 'Correct the user in DATABASE_URL, or allow it in pg_hba.conf',
  '28P01': 'Correct the user and the password in DATABASE_URL',
  '3D000': 'Create the database, or correct its name in DATABASE_URL',
  '3F000': 'Create the schema, or correct the search_path of the user',
  '42501': 'Give the user of DATABASE_URL the right to create tables',
  '42703': `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`,
  '42P07': `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`,
  '25006': 'Let DATABASE_URL lead to the primary, or look at default_transaction_read_only',
};
const SQLITE: Advice = {
  XX001: 'It is damaged, or not a database of SQLite. Restore a backup, or let DATA_DIR name another folder',
  '25006': 'Let the user of the service write to the file and to its folder',
  '58030': 'Let the user of the service read and write the file and its folder',
  '53000': 'Look at the free space and at the limits of the process',
  '53100': 'Make space on the disk',
  '55P03': 'Another program has the file to itself: stop that program',
};

/** SQLite has no codes for these. */
const FOREIGN = /\balready exists$|^no such column\b|\bhas no column named\b/;

/** Explains an error of the first statements, or of opening the database. Other errors are returned as they are. */
export function unusable(error: unknown, database: DatabaseConfig): unknown {
  const state = sqlStateOf(error) ?? '';
  const reason = reasonOf(error);
  if (database.kind === 'sqlite') {
    const advice =
      SQLITE[state] ??
      (isConnectionFault(error) ? SQLITE['58030'] : undefined) ??
      (FOREIGN.test(reason) ? `${FOREIGN_DATABASE} DATA_DIR name another folder` : undefined);
    if (advice === undefined) return error;
    const what = `The file ambit.db in ${database.folder} cannot be used: ${reason} (${state})`;
    return new DatabaseUnusableError(`${what}. ${advice}.`, { cause: error });
  }
  const refused = POSTGRES[state];
  if (refused !== undefined)
    return new DatabaseUnusableError(`PostgreSQL cannot be used: ${reason} (${state}). ${refused}.`, { cause: error });
  if (!isConnectionFault(error)) return error;
  const advice = isTlsFault(error)
    ? 'Correct sslmode, sslrootcert, sslcert and sslkey in DATABASE_URL, or the certificates'
    : 'Check that it runs, and the host and the port in DATABASE_URL';
  return new DatabaseUnusableError(`PostgreSQL cannot be reached: ${reason}. ${advice}.`, { cause: error });
}

/** The message of the innermost cause: what the driver or the system reported. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(reasonOf))].join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

function isConnectionFault(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return (
    code === 'AMBIT_TX_ACQUIRE_FAILED' || code === 'AMBIT_TX_ACQUIRE_TIMEOUT' || code === 'AMBIT_TX_CONNECTION_LOST'
  );
}

/** Everything in which our SQL differs between the two databases. */
export interface ISqlDialect {
  readonly name: 'postgres' | 'sqlite';
  /** A FROM item over a JSON array parameter: each element is its column `value`. */
  readonly elements: (parameter: string) => string;
  /** Appended to a SELECT whose rows must not change before COMMIT. */
  readonly forUpdate: string;
  /** Whether `WITH` may contain INSERT and UPDATE, so that writes to several tables are one round trip. */
  readonly writesInWith: boolean;
  /** Makes a statement that waits for a lock fail soon, with SQLSTATE 55P03; undefined where none can wait. */
  readonly limitLockWait: string | undefined;
  readonly unlimitLockWait: string | undefined;
}

const postgresDialect: ISqlDialect = {
  name: 'postgres',
  elements: (parameter) => `json_array_elements(CAST(${parameter} AS json))`,
  forUpdate: 'FOR UPDATE',
  writesInWith: true,
  limitLockWait: `SET LOCAL lock_timeout = '100ms'`,
  unlimitLockWait: 'SET LOCAL lock_timeout TO DEFAULT',
};

/** A transaction that writes has the whole file for itself, so no row needs a lock. */
const sqliteDialect: ISqlDialect = {
  name: 'sqlite',
  elements: (parameter) => `json_each(${parameter})`,
  forUpdate: '',
  // It would save nothing either: a statement is a call within this process.
  writesInWith: false,
  limitLockWait: undefined,
  unlimitLockWait: undefined,
};

/** The text of one statement for each dialect, written once: pools recognize statements by their text. */
export function sqlFor(write: (dialect: ISqlDialect) => string): Readonly<Record<ISqlDialect['name'], string>> {
  return { postgres: write(postgresDialect), sqlite: write(sqliteDialect) };
}

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
    throw new DatabaseUnusableError(`${what}. Name a folder in which the service may write.`, { cause });
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

export function dialectOf(database: DatabaseConfig): ISqlDialect {
  return database.kind === 'postgres' ? postgresDialect : sqliteDialect;
}

const FIRST_PAUSE_MS = 250;
const LAST_PAUSE_MS = 1000;

/** Called before each pause between two attempts. */
export type OnRetry = (error: unknown, pauseMs: number) => void;

/** Retries while the database is not available, for example because it is starting. */
export async function whenAvailable(work: () => Promise<void>, waitMs: number, onRetry: OnRetry): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error) || isTlsFault(error) || Date.now() + pauseMs > deadline) throw error;
      onRetry(error, pauseMs);
      await pause(pauseMs);
    }
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
