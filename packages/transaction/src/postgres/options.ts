import type { ConnectionOptions } from 'node:tls';
import { type Clock, systemClock } from '../clock.js';
import { checkCount, checkTime, given } from '../options.js';

export interface PostgresPoolOptions {
  /** `postgres://user:password@host:port/database`; or give the parts. */
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly password?: string | (() => string | Promise<string>);
  readonly database?: string;
  readonly ssl?: boolean | ConnectionOptions;
  readonly applicationName?: string;
  /** How many connections at most. Default 10. */
  readonly max?: number;
  /** How long a caller waits for a connection. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** How long a new connection may take. Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** After how long an unused connection is closed. Default 30 s. */
  readonly idleTimeoutMs?: number;
  /** After how long a statement is cancelled from here. Default 30 s; `Infinity` for never. */
  readonly queryTimeoutMs?: number;
  /** How long a cancelled statement has to end before its connection is cut. Default 1 s. */
  readonly cancelGraceMs?: number;
  /**
   * The server's own limit. Sent when connecting, which PgBouncer refuses unless told to ignore it. Default none, which
   * `Infinity` means too.
   */
  readonly statementTimeoutMs?: number;
  /** How long close() waits for connections on loan before it cuts them. Default 10 s. */
  readonly closeTimeoutMs?: number;
  /** Named prepared statements; `false` behind a pooler that does not track them. Default true. */
  readonly prepare?: boolean;
  /**
   * Told of connections that died while nobody used them; what it fails with, async or not, is dropped. Default: nothing,
   * the pool replaces them.
   */
  readonly onError?: (error: Error) => void;
  readonly clock?: Clock;
}

const DEFAULTS = {
  max: 10,
  acquireTimeoutMs: 5000,
  connectTimeoutMs: 5000,
  idleTimeoutMs: 30_000,
  queryTimeoutMs: 30_000,
  cancelGraceMs: 1000,
  closeTimeoutMs: 10_000,
  prepare: true,
  onError: (): void => undefined,
  clock: systemClock,
} satisfies PostgresPoolOptions;

export type PostgresSettings = PostgresPoolOptions & Required<Pick<PostgresPoolOptions, keyof typeof DEFAULTS>>;

const TIMES = [
  'acquireTimeoutMs',
  'connectTimeoutMs',
  'idleTimeoutMs',
  'queryTimeoutMs',
  'cancelGraceMs',
  'statementTimeoutMs',
  'closeTimeoutMs',
] as const;

export function readPostgresOptions(options: PostgresPoolOptions): PostgresSettings {
  for (const name of TIMES) checkTime(name, options[name]);
  checkCount('max', options.max, 1);
  return { ...DEFAULTS, ...given(options) };
}
