import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { keyOf } from '../events/sender.js';
import { ExplainedError } from '../problem.js';
import { type MariadbServer, readDatabaseUrl, readReadUrl, serversOf } from './database-url.js';

export const HOST_VARIANTS = ['fastify', 'express'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The values of `LOG_FORMAT`: `auto` is `text` where stdout is a terminal, otherwise `json`. */
const LOG_FORMATS = ['auto', 'json', 'text'] as const;

/** The values of `TRANSACTION_CHECK`. */
const TRANSACTION_CHECKS = { 0: 'off', 1: 'report', throw: 'throw' } as const;

/** The values of `DATABASE_READ_FROM`. */
const READ_FROM = ['primary', 'replica'] as const;

interface ReplicasConfig {
  /** One for each server. */
  readonly urls: readonly string[];
  /** Where a `GET` reads while the primary can be reached. */
  readonly readFrom: (typeof READ_FROM)[number];
}

export interface PostgresConfig {
  readonly kind: 'postgres';
  readonly url: string;
  /** Servers that only read, if there are any. */
  readonly replicas?: ReplicasConfig | undefined;
  readonly poolSize: number;
  readonly prepare: boolean;
  /** How long a request waits for a connection. */
  readonly acquireTimeoutMs: number;
  /** After how long a statement is cancelled. */
  readonly queryTimeoutMs: number;
}

export interface ReplicatedConfig extends PostgresConfig {
  readonly replicas: ReplicasConfig;
}

export interface SqliteConfig {
  readonly kind: 'sqlite';
  /** `:memory:` for a database that is lost when the process exits. */
  readonly folder: string;
  /** How long a request waits until it may write. */
  readonly acquireTimeoutMs: number;
}

export interface MariadbConfig {
  readonly kind: 'mariadb';
  readonly server: MariadbServer;
  readonly poolSize: number;
  /** How long a request waits for a connection. */
  readonly acquireTimeoutMs: number;
  /** After how long a statement is cancelled. */
  readonly queryTimeoutMs: number;
}

export type DatabaseConfig = PostgresConfig | SqliteConfig | MariadbConfig;

export interface EventsConfig {
  readonly url: URL;
  /** Signs the events. */
  readonly key: Buffer;
}

interface InspectorConfig {
  readonly token: string | undefined;
  /** Records from the start, also while no page is open. */
  readonly always: boolean;
  /** Shows the lines of the log, which contain values. */
  readonly lines: boolean;
}

export interface Config {
  readonly hostVariant: (typeof HOST_VARIANTS)[number];
  readonly host: string;
  readonly port: number;
  readonly database: DatabaseConfig;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  readonly logFormat: (typeof LOG_FORMATS)[number];
  /** How long the start retries while the database is unavailable; an attempt in progress is completed. */
  readonly startTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  /** How many connections may be open; undefined for as many as the process has descriptors for, up to 10,000. */
  readonly maxConnections: number | undefined;
  /** How long idle connections stay open at shutdown, for a request that is on its way already. */
  readonly keepIdleMs: number;
  /** After how long the transaction of a request is rolled back. */
  readonly transactionTimeoutMs: number;
  /** A misused transaction is ignored, logged, or logged and refused. */
  readonly transactionCheck: (typeof TRANSACTION_CHECKS)[keyof typeof TRANSACTION_CHECKS];
  /** Serves `/metrics` in the format of Prometheus; metrics are sent nowhere else. */
  readonly metrics: boolean;
  /** The name of the service in metrics. */
  readonly serviceName: string;
  /** Creates spans for the OpenTelemetry SDK that the process was started with, and adds their ids to the log. */
  readonly traces: boolean;
  /** Where `user.created` and `order.created` are posted; undefined for nowhere. */
  readonly events: EventsConfig | undefined;
  /** Serves the inspector at `/inspector`, to this machine, or to every client that sends the token. */
  readonly inspector: InspectorConfig | undefined;
  /** For tests: a request that names a sandbox in its header runs in it, and nothing that it stores is kept. */
  readonly sandbox: boolean;
}

/** The database, if there are replicas of it. */
export function replicatedDatabase({ database }: Pick<Config, 'database'>): ReplicatedConfig | undefined {
  if (database.kind !== 'postgres') return undefined;
  const { replicas } = database;
  return replicas && { ...database, replicas };
}

/** The place of the data, and the variable that says so; never the password. */
export function placeOf(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') {
    const { folder } = database;
    const place = folder === ':memory:' ? 'in memory, lost at exit' : `in ${join(resolve(folder), 'ambit.db')}`;
    return `SQLite ${place} (DATA_DIR; DATABASE_URL is not set)`;
  }
  if (database.kind === 'mariadb') {
    const { host, port, database: name } = database.server;
    return `MariaDB at ${host.includes(':') ? `[${host}]` : host}:${port}/${name} (DATABASE_URL)`;
  }
  const replicas = database.replicas?.urls.map(serversOf).join(', ');
  const place = `PostgreSQL at ${serversOf(database.url)} (DATABASE_URL)`;
  return replicas === undefined ? place : `${place}, replicas ${replicas} (DATABASE_READ_URL)`;
}

/** Registered as `IConfigService`: `config.get('port')` is a number. */
export interface IConfigService {
  get<K extends keyof Config>(name: K): Config[K];
}

export class ConfigService implements IConfigService {
  constructor(private readonly config: Config) {}

  get<K extends keyof Config>(name: K): Config[K] {
    return this.config[name];
  }
}

/** Where events are posted, and the key that signs them. The messages never repeat a value, because both may be secret. */
function readEvents(given: (name: string) => string, problems: string[]): EventsConfig | undefined {
  const address = given('EVENTS_URL').trim();
  const secret = given('EVENTS_SECRET').trim();
  const key = keyOf(secret);
  if (secret !== '' && key === undefined) {
    problems.push(
      'EVENTS_SECRET must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
    );
  }
  if (address === '') return undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isUsable) problems.push('EVENTS_URL must be an http or https URL without a user and a password');
  if (secret === '')
    problems.push('EVENTS_SECRET must be set with EVENTS_URL: a receiver cannot know otherwise who sends an event');
  return isUsable && key !== undefined ? { url, key } : undefined;
}

/** All invalid environment variables, in one message. */
export class ConfigError extends ExplainedError {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration is wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`, 78);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a ConfigError that lists all problems. An empty value means the default, like an absent one. */
export function readConfig(env: Environment): Config {
  const problems: string[] = [];
  const known = new Set<string>();

  const given = (name: string): string => {
    known.add(name);
    return env[name] ?? '';
  };
  const read = <T>(name: string, fallback: T, parse: (text: string) => T | undefined, wanted: string): T => {
    const text = given(name).trim();
    if (text === '') return fallback;
    const value = parse(text);
    if (value === undefined) problems.push(`${name} must be ${wanted}, not ${JSON.stringify(text)}`);
    return value ?? fallback;
  };
  const oneOf = <T extends string>(name: string, values: readonly T[], fallback: T): T =>
    read(name, fallback, (text) => values.find((value) => value === text), `one of ${values.join(', ')}`);
  const wholeNumber = <F extends number | undefined>(name: string, fallback: F, min: number, max: number): number | F =>
    read<number | F>(name, fallback, (text) => inRange(text, min, max), `a whole number from ${min} to ${max}`);

  const mode = given('NODE_ENV');
  const onOff = (name: string): boolean => oneOf(name, ['0', '1'], '0') === '1';
  const inspector = (): Config['inspector'] => {
    // The messages never repeat the value, because it is a secret.
    const secret = given('INSPECTOR_TOKEN');
    const token = secret.trim() || undefined;
    if (token !== undefined && /\p{Cc}/u.test(secret))
      problems.push('INSPECTOR_TOKEN must not contain line breaks or other control characters, not even at its end');
    if (token !== undefined && token.length < 16)
      problems.push('INSPECTOR_TOKEN must have at least 16 characters, or it can be guessed');
    const on = oneOf('INSPECTOR', ['0', '1', 'always'], '0');
    const lines = onOff('INSPECTOR_LINES');
    // Every client behind a proxy on this machine, which may add no header, looks like one of this machine.
    if (on !== '0' && token === undefined && mode !== 'development' && mode !== 'test')
      problems.push('INSPECTOR needs INSPECTOR_TOKEN, or NODE_ENV=development on a machine that serves nobody else');
    return on === '0' ? undefined : { token, lines, always: on === 'always' };
  };

  const database = (): DatabaseConfig => {
    const poolSize = wholeNumber('DATABASE_POOL_SIZE', 10, 1, 1000);
    const prepare = oneOf('DATABASE_PREPARE', ['true', 'false'], 'true') === 'true';
    const acquireTimeoutMs = wholeNumber('ACQUIRE_TIMEOUT_MS', 2000, 1, 600_000);
    const queryTimeoutMs = wholeNumber('QUERY_TIMEOUT_MS', 5000, 1, 600_000);
    const folder = read<string>('DATA_DIR', './data', (text) => text, 'a folder');
    const readFrom = oneOf('DATABASE_READ_FROM', READ_FROM, 'primary');
    const text = given('DATABASE_URL').trim();
    const readText = given('DATABASE_READ_URL').trim();
    const readUrls = readText === '' ? undefined : readReadUrl(readText, problems);
    if (text === '') {
      if (readText !== '')
        problems.push('DATABASE_READ_URL must be set with DATABASE_URL: the embedded database has no replicas');
      return { kind: 'sqlite', folder, acquireTimeoutMs };
    }
    const address = readDatabaseUrl(text, problems);
    if (address?.kind === 'mariadb') {
      if (readText !== '')
        problems.push(
          'DATABASE_READ_URL is for PostgreSQL: leave it out, or let MaxScale or ProxySQL divide the reads',
        );
      if (!prepare)
        problems.push(
          'DATABASE_PREPARE=false is for PostgreSQL: the statements of MariaDB are always prepared, leave it out',
        );
      return { ...address, poolSize, acquireTimeoutMs, queryTimeoutMs };
    }
    const replicas = readUrls && { urls: readUrls, readFrom };
    return { kind: 'postgres', url: text, replicas, poolSize, prepare, acquireTimeoutMs, queryTimeoutMs };
  };

  const config: Config = {
    hostVariant: oneOf('HOST_VARIANT', HOST_VARIANTS, 'fastify'),
    host: read<string>('HOST', '127.0.0.1', (text) => (isHost(text) ? text : undefined), 'an address to listen on'),
    port: wholeNumber('PORT', 3000, 0, 65_535),
    database: database(),
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    logFormat: oneOf('LOG_FORMAT', LOG_FORMATS, 'auto'),
    startTimeoutMs: wholeNumber('START_TIMEOUT_MS', 10_000, 0, 600_000),
    shutdownTimeoutMs: wholeNumber('SHUTDOWN_TIMEOUT_MS', 10_000, 0, 600_000),
    maxConnections: wholeNumber('MAX_CONNECTIONS', undefined, 1, 1_000_000),
    keepIdleMs: wholeNumber('KEEP_IDLE_MS', 0, 0, 60_000),
    transactionTimeoutMs: wholeNumber('TRANSACTION_TIMEOUT_MS', 8000, 1, 600_000),
    transactionCheck: TRANSACTION_CHECKS[oneOf('TRANSACTION_CHECK', ['0', '1', 'throw'], '0')],
    metrics: onOff('METRICS'),
    serviceName: read<string>('OTEL_SERVICE_NAME', 'ambit-service', (text) => text, 'a name'),
    traces: onOff('TRACES'),
    events: readEvents(given, problems),
    inspector: inspector(),
    sandbox: onOff('SANDBOX'),
  };
  if (config.sandbox && mode === 'production')
    problems.push('SANDBOX is for tests and must not be 1 where NODE_ENV is production');
  if (config.sandbox && config.events)
    problems.push('EVENTS_URL has no effect with SANDBOX=1, because a sandbox stores nothing: set one of them');
  if (config.sandbox && replicatedDatabase(config))
    problems.push(
      'DATABASE_READ_URL has no effect with SANDBOX=1, because no replica has what a sandbox stores: set one of them',
    );
  problems.push(...misspeltVariables(env, known));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Whether a name can be resolved to an address of this machine is known only when the service listens. */
function isHost(text: string): boolean {
  const looksLikeIp = /^\d+(?:\.\d+){3}$/.test(text);
  return looksLikeIp ? isIP(text) > 0 : !/\s/.test(text);
}

function inRange(text: string, min: number, max: number): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  return value >= min && value <= max ? value : undefined;
}

/** Shorter names are too close to those that other programs read. */
const SHORTEST = 6;
/** In shorter names one letter may be wrong, in others two. */
const SHORT = 8;

/**
 * A variable that is not read, and is almost one that is: `DATBASE_URL` would start the service on an embedded database without a word. One
 * that belongs to another program is accepted once the variable of the service is set, too, for example to its default.
 */
function misspeltVariables(env: Environment, known: ReadonlySet<string>): string[] {
  const absent = [...known].filter((name) => name.length >= SHORTEST && !env[name]?.trim());
  return Object.keys(env).flatMap((name) => {
    if (known.has(name)) return [];
    const meant = absent.find((one) => isWithin(one.length < SHORT ? 1 : 2, name.toUpperCase(), one));
    return meant === undefined ? [] : [`${name} is not known: rename it to ${meant}, or set ${meant} as well`];
  });
}

/** True if so many letters of a name are missing, added, wrong or exchanged with the next at most. */
function isWithin(edits: number, name: string, known: string): boolean {
  let same = 0;
  while (same < name.length && name[same] === known[same]) same++;
  const [a, b] = [name.slice(same), known.slice(same)];
  if (a === b) return true;
  if (edits === 0) return false;
  const rests: [string, string][] = [
    [a.slice(1), b],
    [a, b.slice(1)],
    [a.slice(1), b.slice(1)],
  ];
  if (a[0] === b[1] && a[1] === b[0]) rests.push([a.slice(2), b.slice(2)]);
  return rests.some(([one, other]) => isWithin(edits - 1, one, other));
}
