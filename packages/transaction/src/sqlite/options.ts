import { type Clock, systemClock } from '../clock.js';
import { TransactionError } from '../errors.js';
import { checkTime } from '../options.js';

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
  const { path, maxReaders = DEFAULTS.maxReaders } = options;
  if (typeof path !== 'string' || path === '') {
    throw new TransactionError('AMBIT_TX_OPTION', 'path must name a file, or be ":memory:"');
  }
  if (!Number.isInteger(maxReaders) || maxReaders < 1) {
    throw new TransactionError(
      'AMBIT_TX_OPTION',
      `maxReaders must be a whole number from 1 on, not ${String(maxReaders)}`,
    );
  }
  return { ...DEFAULTS, ...options };
}
