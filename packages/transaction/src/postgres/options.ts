import type { ConnectionOptions } from 'node:tls';
import type { ClientConfig } from 'pg';
import { type Clock, LONGEST_MS } from '../clock.js';
import type { AfterBegin } from '../contract.js';
import { TransactionError } from '../errors.js';
import { checkBoolean, checkCount, checkFunction, checkTime, given, shown } from '../options.js';
import { type PoolSettings, readDriverOptions } from '../pool/options.js';

/** The kinds of servers, in the words of libpq. */
const TARGETS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;
/** The kind of server, in the words of libpq's `target_session_attrs`: such as `primary`, or `any` to read on a standby too. */
export type TargetSessionAttrs = (typeof TARGETS)[number];

/** The address of one host, in the options of the driver. */
interface Address {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
}

export interface Servers {
  /** In the order in which they are tried. */
  readonly addresses: readonly Address[];
  readonly target: TargetSessionAttrs | undefined;
}

interface ServerOptions {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly targetSessionAttrs?: TargetSessionAttrs;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the options, the connection string and libpq's environment variables; the connection string wins, as in `pg`. */
export function readServers(options: ServerOptions, env: Environment = process.env): Servers {
  const { connectionString, port } = options;
  const asked = connectionString === undefined ? undefined : queryOf(connectionString).get('target_session_attrs');
  const target = asked ?? options.targetSessionAttrs ?? env['PGTARGETSESSIONATTRS'];
  if (target !== undefined && !isTarget(target)) {
    const known = `one of ${TARGETS.join(', ')}`;
    throw new TransactionError('AMBIT_OPTION', `target_session_attrs must be ${known}, not ${shown(target)}`);
  }
  if (connectionString !== undefined) {
    return { addresses: splitHosts(connectionString).map((one) => ({ connectionString: one })), target };
  }
  const ofEnvironment = options.host === undefined;
  const host = ofEnvironment ? env['PGHOST'] : options.host;
  const ports = port === undefined && ofEnvironment ? env['PGPORT'] : port?.toString();
  const addresses = pair(host, ports).map((one) => ({
    ...(one.host === undefined ? {} : { host: one.host }),
    ...(one.port === undefined ? {} : { port: Number(one.port) }),
  }));
  return { addresses, target };
}

function isTarget(target: string): target is TargetSessionAttrs {
  return (TARGETS as readonly string[]).includes(target);
}

/** User and password end at the last `@` before the path, as in a URL. */
const PARTS = /^(?<start>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<hosts>[^/?#]*)(?<path>[^?]*)(?<query>[^]*)$/i;

/**
 * One connection string for each host of a connection string, which may list several as libpq's does:
 * `postgres://h1:5432,h2:5432/shop`, or `?host=h1,h2`.
 *
 * @param connectionString - a connection string of libpq
 * @returns a connection string for each host, in their order; a text that is no such string as it is
 * @throws `TransactionError` `AMBIT_OPTION`: the numbers of hosts and ports in its query do not match
 *
 * @example
 * ```ts
 * import { splitHosts } from '@ambit/transaction/postgres';
 *
 * function isPostgresUrl(text: string): boolean {
 *   return /^postgres(?:ql)?:/.test(text) && splitHosts(text).every((url) => URL.canParse(url));
 * }
 * ```
 */
export function splitHosts(connectionString: string): string[] {
  const { start, hosts, path, query } = PARTS.exec(connectionString)?.groups ?? {};
  if (start === undefined || hosts === undefined) return [connectionString];
  const params = queryOf(connectionString);
  const named = pair(params.get('host') ?? undefined, params.get('port') ?? undefined);
  if (named.length === 1) return hosts.split(',').map((host) => `${start}${host}${path}${query}`);
  return named.map(({ host, port }) => {
    if (host !== undefined) params.set('host', host);
    if (port !== undefined) params.set('port', port);
    return `${start}${path}?${params.toString()}`;
  });
}

function queryOf(connectionString: string): URLSearchParams {
  const start = connectionString.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : connectionString.slice(start));
}

/** Hosts with their ports: one port for all of them, or one for each. */
function pair(hosts: string | undefined, ports: string | undefined): { host?: string; port?: string }[] {
  const host = hosts === undefined ? [] : hosts.split(',');
  const port = ports === undefined ? [] : ports.split(',');
  if (port.length > 1 && port.length !== host.length) {
    const named = host.length === 0 ? 'No host' : host.length === 1 ? '1 host' : `${host.length} hosts`;
    const what = `${named} and ${port.length} ports do not match: give one port for all hosts, or one for each`;
    throw new TransactionError('AMBIT_OPTION', what);
  }
  const portOf = (index: number): { port?: string } => {
    const one = port.length === 1 ? port[0] : port[index];
    return one === undefined ? {} : { port: one };
  };
  return host.length === 0 ? [portOf(0)] : host.map((one, index) => ({ host: one, ...portOf(index) }));
}

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
  /**
   * Keeps statements prepared whose text gives each parameter a type, as in `$1::int`; `false` behind a pooler that does not track them.
   * Default true.
   */
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
  connectTimeoutMs: 5000,
  idleTimeoutMs: 30_000,
  checkAfterMs: 1000,
  silentAfterMs: 5000,
  keepAliveDelayMs: 10_000,
  queryTimeoutMs: 30_000,
  cancelGraceMs: 1000,
  prepare: true,
  onError: (): void => undefined,
} satisfies PostgresPoolOptions;

export type PostgresSettings = PostgresPoolOptions &
  PoolSettings &
  Required<Pick<PostgresPoolOptions, keyof typeof DEFAULTS>> &
  Servers;

const TIMES = [
  'connectTimeoutMs',
  'idleTimeoutMs',
  'checkAfterMs',
  'silentAfterMs',
  'keepAliveDelayMs',
  'queryTimeoutMs',
  'cancelGraceMs',
  'statementTimeoutMs',
] as const;

export function readPostgresOptions(options: PostgresPoolOptions): PostgresSettings {
  for (const name of TIMES) checkTime(name, options[name]);
  if (options.queryTimeoutMs === 0) {
    const what =
      'queryTimeoutMs must be more than 0, since it would cancel every statement at once; Infinity is no limit';
    throw new TransactionError('AMBIT_OPTION', what);
  }
  checkCount('max', options.max, 1);
  checkBoolean('prepare', options.prepare);
  checkFunction('onError', options.onError);
  return { ...DEFAULTS, ...given(options), ...readDriverOptions(options), ...readServers(options) };
}

/** The configuration of the driver for each host. The time for a connection is divided among the hosts. */
export function driverConfigs(settings: PostgresSettings): ClientConfig[] {
  const { user, password, database, ssl, applicationName, statementTimeoutMs, addresses } = settings;
  const asked = {
    user,
    password,
    database,
    ssl,
    application_name: applicationName,
    statement_timeout: statementTimeoutMs === undefined ? undefined : orNever(statementTimeoutMs),
  };
  return addresses.map((address) => ({
    ...address,
    // An option given as undefined would hide what the connection string or the environment says.
    ...given(asked),
    connectionTimeoutMillis: orNever(settings.connectTimeoutMs / addresses.length),
    keepAlive: true,
    keepAliveInitialDelayMillis: orNever(settings.keepAliveDelayMs),
  }));
}

/** The driver says "never" with 0. */
function orNever(ms: number): number {
  return ms > LONGEST_MS ? 0 : ms;
}
