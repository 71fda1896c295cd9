import { type Clock, systemClock } from '../clock.js';
import { TransactionError } from '../errors.js';
import { checkCount, checkTime, given } from '../options.js';

export interface SqlitePoolOptions {
  /** The file, whose folder must exist; or `:memory:` for a database that lives as long as the pool. */
  readonly path: string;
  /** How long a caller waits for its turn to write, and for another process that writes. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** How many read-only transactions may be open side by side. Default 4. */
  readonly maxReaders?: number;
  /** How long close() waits for connections on loan. Default 10 s. */
  readonly closeTimeoutMs?: number;
  readonly clock?: Clock;
}

const DEFAULTS = {
  acquireTimeoutMs: 5000,
  maxReaders: 4,
  closeTimeoutMs: 10_000,
  clock: systemClock,
} satisfies Omit<SqlitePoolOptions, 'path'>;

export type SqliteSettings = Required<SqlitePoolOptions>;

export function readSqliteOptions(options: SqlitePoolOptions): SqliteSettings {
  for (const name of ['acquireTimeoutMs', 'closeTimeoutMs'] as const) checkTime(name, options[name]);
  checkCount('maxReaders', options.maxReaders, 1);
  const { path } = options;
  if (typeof path !== 'string' || path === '') {
    throw new TransactionError('AMBIT_TX_OPTION', 'path must name a file, or be ":memory:"');
  }
  return { ...DEFAULTS, ...given(options), path };
}
