import { resolve } from 'node:path';
import type { Clock } from '../clock.js';
import type { AfterBegin } from '../contract.js';
import { TransactionError } from '../errors.js';
import { checkCount } from '../options.js';
import { type PoolSettings, readDriverOptions } from '../pool/options.js';

/** Which file a pool opens, how many may read it at a time, and the time limits. */
export interface SqlitePoolOptions {
  /** The file, whose folder must exist; or `:memory:` for a database that exists as long as the pool. */
  readonly path: string;
  /** The time that a caller waits for its turn to write, and for another process that writes. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** The number of callers that may wait for their turn; the next is refused at once, with `AMBIT_TX_POOL_FULL`. Default 1000. */
  readonly maxWaiting?: number;
  /** The number of read-only transactions that may be open side by side. Default 4. */
  readonly maxReaders?: number;
  /** The time that close() waits for connections in use. Default 10 s. */
  readonly closeTimeoutMs?: number;
  /** Part of every BEGIN on this pool, such as `PRAGMA defer_foreign_keys = ON`. Default: nothing. */
  readonly afterBegin?: AfterBegin;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

export type SqliteSettings = PoolSettings & Required<Pick<SqlitePoolOptions, 'path' | 'maxReaders'>>;

export function readSqliteOptions(options: SqlitePoolOptions): SqliteSettings {
  const { path, maxReaders = 4 } = options;
  checkCount('maxReaders', maxReaders, 1);
  if (typeof path !== 'string' || path === '') {
    throw new TransactionError('AMBIT_OPTION', 'path must name a file, or be ":memory:"');
  }
  if (/^(?:libsql|https?|wss?):\/\//.test(path)) {
    const what =
      "`path` is the address of a server: createSqlitePool() opens a file on this machine, or ':memory:'. There is no pool for the server of libSQL, see docs/service/distributed-engines.md#sqld-the-server-of-libsql; for a database on another machine use createPostgresPool()";
    throw new TransactionError('AMBIT_OPTION', what);
  }
  // Connections are opened later, too, when the process may have changed its folder.
  return { ...readDriverOptions(options), path: path === ':memory:' ? path : resolve(path), maxReaders };
}
