import type { ConnectionOptions } from 'node:tls';
import { type Clock, systemClock } from '../core/clock.js';
import type { AfterBegin } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { checkBoolean, checkClock, checkCount, checkFunction, checkTime, given } from '../core/options.js';
import { readServers, type Servers, type TargetSessionAttrs } from './servers.js';

/** Which database a pool connects to, how many connections there may be, and the time limits. */
export interface PostgresPoolOptions {
  /**
   * `postgres://user:password@host:port/database`; or give the parts. Several hosts are tried in order, as libpq does:
   * `postgres://h1:5432,h2:5432/shop?target_session_attrs=primary`.
   */
  readonly connectionString?: string;
  /** One, or several with commas in between. Default `PGHOST`, otherwise `localhost`. */
  readonly host?: string;
  /** The port of every host. Default `PGPORT`, otherwise 5432. */
  readonly port?: number;
  /** Who logs in. Default `PGUSER`, otherwise the user of the operating system. */
  readonly user?: string;
  /** The password, or a function that is called for each new connection, such as for a token that expires. Default `PGPASSWORD`. */
  readonly password?: string | (() => string | Promise<string>);
  /** The name of the database. Default `PGDATABASE`, otherwise the name of the user. */
  readonly database?: string;
  /** TLS: `true`, or the options of Node's `tls.connect()`. Default: what `PGSSLMODE` says, otherwise none. */
  readonly ssl?: boolean | ConnectionOptions;
  /** The name of the connections in `pg_stat_activity` and in the log of the server. Default `PGAPPNAME`. */
  readonly applicationName?: string;
  /**
   * What a server must be, in libpq's words; a connection string says it with `target_session_attrs`. Default: it must take
   * writes, but for those who acquire a connection with `readOnly: true`. `any` for a pool that only reads, on a standby too.
   */
  readonly targetSessionAttrs?: TargetSessionAttrs;
  /** How many connections at most. Default 10. */
  readonly max?: number;
  /** How many callers may wait for a connection; the next is refused at once, with `AMBIT_TX_POOL_FULL`. Default 1000. */
  readonly maxWaiting?: number;
  /** How long a caller waits for a connection. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** How long a new connection may take, divided among the hosts. Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** After how long an unused connection is closed. Default 30 s. */
  readonly idleTimeoutMs?: number;
  /**
   * A connection that was last checked out so long ago has to respond, at the cost of one round trip, before the next check-out.
   * Default 1 s; `Infinity` for never.
   */
  readonly checkAfterMs?: number;
  /**
   * While a statement runs for longer than this, the server is asked on another socket whether it is there; where it does not
   * react for as long again, the connection is cut. Default 5 s; `Infinity` for never.
   */
  readonly silentAfterMs?: number;
  /** After how long without traffic TCP asks whether the other side is still there. Default 10 s. */
  readonly keepAliveDelayMs?: number;
  /** After how long a statement is cancelled from here. Default 30 s; `Infinity` for never, and 0 is refused. */
  readonly queryTimeoutMs?: number;
  /** How long a cancelled statement has until its connection is cut. Default 1 s. */
  readonly cancelGraceMs?: number;
  /**
   * The server's own limit. Sent when connecting, which PgBouncer refuses unless configured to ignore it. Default none, which
   * `Infinity` means too.
   */
  readonly statementTimeoutMs?: number;
  /** How long close() waits for connections in use before it cuts them. Default 10 s. */
  readonly closeTimeoutMs?: number;
  /** Named prepared statements; `false` behind a pooler that does not track them. Default true. */
  readonly prepare?: boolean;
  /** Part of every BEGIN on this pool, such as `SET LOCAL` or `set_config(..., true)` for row-level security. Default: nothing. */
  readonly afterBegin?: AfterBegin;
  /**
   * Called with the error of a connection that broke while nobody used it; what it fails with, async or not, is dropped.
   * A connection that breaks in use is reported by the statement that finds it, and only there. Default: nothing, the pool
   * replaces them.
   */
  readonly onError?: (error: Error) => void;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

const DEFAULTS = {
  max: 10,
  maxWaiting: 1000,
  acquireTimeoutMs: 5000,
  connectTimeoutMs: 5000,
  idleTimeoutMs: 30_000,
  checkAfterMs: 1000,
  silentAfterMs: 5000,
  keepAliveDelayMs: 10_000,
  queryTimeoutMs: 30_000,
  cancelGraceMs: 1000,
  closeTimeoutMs: 10_000,
  prepare: true,
  onError: (): void => undefined,
  clock: systemClock,
} satisfies PostgresPoolOptions;

export type PostgresSettings = PostgresPoolOptions &
  Required<Pick<PostgresPoolOptions, keyof typeof DEFAULTS>> &
  Servers;

const TIMES = [
  'acquireTimeoutMs',
  'connectTimeoutMs',
  'idleTimeoutMs',
  'checkAfterMs',
  'silentAfterMs',
  'keepAliveDelayMs',
  'queryTimeoutMs',
  'cancelGraceMs',
  'statementTimeoutMs',
  'closeTimeoutMs',
] as const;

export function readPostgresOptions(options: PostgresPoolOptions): PostgresSettings {
  for (const name of TIMES) checkTime(name, options[name]);
  if (options.queryTimeoutMs === 0) {
    const what =
      'queryTimeoutMs must be more than 0, since it would cancel every statement at once; Infinity is no limit';
    throw new TransactionError('AMBIT_TX_OPTION', what);
  }
  checkCount('max', options.max, 1);
  checkCount('maxWaiting', options.maxWaiting, 0);
  checkBoolean('prepare', options.prepare);
  checkFunction('afterBegin', options.afterBegin);
  checkFunction('onError', options.onError);
  checkClock(options.clock);
  return { ...DEFAULTS, ...given(options), ...readServers(options) };
}
