import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { keyOf } from '../events/sender.js';
import { ExplainedError } from '../problem.js';
import { type MariadbServer, readDatabaseUrl, readReadUrl, serversOf } from './database-url.js';

export const HOST_VARIANTS = ['fastify', 'express'] as const;

/** An environment variable; `parse` returns undefined for text that is not what is wanted. */
interface Variable<T> {
  readonly name: string;
  readonly wanted: string;
  readonly parse: (text: string) => T | undefined;
  readonly byDefault: T;
}

const variable = <T>(name: string, wanted: string, byDefault: T, parse: Variable<T>['parse']): Variable<T> => ({
  name,
  wanted,
  byDefault,
  parse,
});

/** The values by the texts that stand for them. */
const choice = <const T>(name: string, values: Readonly<Record<string, T>>, byDefault: NoInfer<T>): Variable<T> =>
  variable(name, `one of ${Object.keys(values).join(', ')}`, byDefault, (text) =>
    Object.hasOwn(values, text) ? values[text] : undefined,
  );

const oneOf = <const T extends string>(name: string, values: readonly T[], byDefault: NoInfer<T>): Variable<T> =>
  choice(name, Object.fromEntries(values.map((value) => [value, value])), byDefault);

const onOff = (name: string): Variable<boolean> => choice<boolean>(name, { 0: false, 1: true }, false);

const wholeNumber = <D extends number | undefined>(name: string, byDefault: D, min: number, max: number) =>
  variable<number | D>(name, `a whole number from ${min} to ${max}`, byDefault, (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  });

/** Its user checks the text, with messages that do not repeat a secret. */
const anyText = <D extends string | undefined>(name: string, byDefault: D) =>
  variable<string | D>(name, 'text', byDefault, (text) => text);

/** A name can be resolved to an address of this machine, or not, only when the service listens. */
const isHost = (text: string): boolean => (/^\d+(?:\.\d+){3}$/.test(text) ? isIP(text) > 0 : !/\s/.test(text));

const MOST_MS = 600_000;

/** Each of them is a property of the configuration. README.md says what every variable is for. */
const SETTINGS = {
  hostVariant: oneOf('HOST_VARIANT', HOST_VARIANTS, 'fastify'),
  host: variable('HOST', 'an address to listen on', '127.0.0.1', (text) => (isHost(text) ? text : undefined)),
  port: wholeNumber('PORT', 3000, 0, 65_535),
  logLevel: oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
  logFormat: oneOf('LOG_FORMAT', ['auto', 'json', 'text'], 'auto'),
  /** How long the start retries while the database is unavailable; an attempt in progress is completed. */
  startTimeoutMs: wholeNumber('START_TIMEOUT_MS', 10_000, 0, MOST_MS),
  shutdownTimeoutMs: wholeNumber('SHUTDOWN_TIMEOUT_MS', 10_000, 0, MOST_MS),
  /** Undefined for as many as the process has descriptors for, up to 10,000. */
  maxConnections: wholeNumber('MAX_CONNECTIONS', undefined, 1, 1_000_000),
  /** How long idle connections stay open at shutdown, for a request that is on its way already. */
  keepIdleMs: wholeNumber('KEEP_IDLE_MS', 0, 0, 60_000),
  transactionTimeoutMs: wholeNumber('TRANSACTION_TIMEOUT_MS', 8000, 1, MOST_MS),
  /** A misused transaction is ignored, logged, or logged and refused. */
  transactionCheck: choice('TRANSACTION_CHECK', { 0: 'off', 1: 'report', throw: 'throw' }, 'off'),
  metrics: onOff('METRICS'),
  /** The name of the service in metrics and events. */
  serviceName: anyText('OTEL_SERVICE_NAME', 'ambit-service'),
  traces: onOff('TRACES'),
  /** For tests: a request that names a sandbox in its header runs in it, and nothing that it stores is kept. */
  sandbox: onOff('SANDBOX'),
};

/** Variables of which several make one property. */
const PARTS = {
  folder: anyText('DATA_DIR', './data'),
  url: anyText('DATABASE_URL', undefined),
  readUrl: anyText('DATABASE_READ_URL', undefined),
  readFrom: oneOf('DATABASE_READ_FROM', ['primary', 'replica'], 'primary'),
  poolSize: wholeNumber('DATABASE_POOL_SIZE', 10, 1, 1000),
  prepare: choice('DATABASE_PREPARE', { true: true, false: false }, true),
  acquireTimeoutMs: wholeNumber('ACQUIRE_TIMEOUT_MS', 2000, 1, MOST_MS),
  queryTimeoutMs: wholeNumber('QUERY_TIMEOUT_MS', 5000, 1, MOST_MS),
  eventsUrl: anyText('EVENTS_URL', undefined),
  eventsSecret: anyText('EVENTS_SECRET', undefined),
  inspector: oneOf('INSPECTOR', ['0', '1', 'always'], '0'),
  token: anyText('INSPECTOR_TOKEN', undefined),
  lines: onOff('INSPECTOR_LINES'),
  mode: anyText('NODE_ENV', undefined),
};

const NAMES = [...Object.values(SETTINGS), ...Object.values(PARTS)].map(({ name }) => name);

type ValuesOf<T extends Readonly<Record<string, Variable<unknown>>>> = { readonly [K in keyof T]: T[K]['byDefault'] };
type Parts = ValuesOf<typeof PARTS>;

interface ServerConfig {
  readonly poolSize: number;
  /** How long a request waits for a connection. */
  readonly acquireTimeoutMs: number;
  /** After how long a statement is cancelled. */
  readonly queryTimeoutMs: number;
}

export interface PostgresConfig extends ServerConfig {
  readonly kind: 'postgres';
  readonly url: string;
  readonly prepare: boolean;
  /** Servers that only read, one for each URL, if there are any. */
  readonly replicas?: { readonly urls: readonly string[]; readonly readFrom: 'primary' | 'replica' } | undefined;
}

export interface ReplicatedConfig extends PostgresConfig {
  readonly replicas: NonNullable<PostgresConfig['replicas']>;
}

export interface SqliteConfig {
  readonly kind: 'sqlite';
  /** `:memory:` for a database that is lost when the process exits. */
  readonly folder: string;
  /** How long a request waits until it may write. */
  readonly acquireTimeoutMs: number;
}

export interface MariadbConfig extends ServerConfig {
  readonly kind: 'mariadb';
  readonly server: MariadbServer;
}

export type DatabaseConfig = PostgresConfig | SqliteConfig | MariadbConfig;

export interface EventsConfig {
  readonly url: URL;
  /** Signs the events. */
  readonly key: Buffer;
}

export interface Config extends ValuesOf<typeof SETTINGS> {
  readonly database: DatabaseConfig;
  readonly events: EventsConfig | undefined;
  /** `always` records from the start, `lines` shows the lines of the log, which contain values. */
  readonly inspector:
    | { readonly token: string | undefined; readonly always: boolean; readonly lines: boolean }
    | undefined;
}

/** The database, if there are replicas of it. */
export function replicatedDatabase({ database }: Pick<Config, 'database'>): ReplicatedConfig | undefined {
  if (database.kind !== 'postgres' || !database.replicas) return undefined;
  return { ...database, replicas: database.replicas };
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

/** All invalid environment variables, in one message. */
export class ConfigError extends ExplainedError {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration is wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`, 78);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the configuration of the service. An empty value means the default, like an absent one.
 *
 * @param env - The environment, such as `process.env`.
 * @returns The configuration, with defaults for what is not set.
 * @throws ConfigError - Lists all problems.
 */
export function readConfig(env: Environment): Config {
  const problems: string[] = [];
  const parts = valuesIn(PARTS, env, problems);
  const config: Config = {
    ...valuesIn(SETTINGS, env, problems),
    database: databaseOf(parts, problems),
    events: eventsOf(parts, problems),
    inspector: inspectorOf(parts, env, problems),
  };
  if (config.sandbox && parts.mode === 'production')
    problems.push('SANDBOX is for tests and must not be 1 where NODE_ENV is production');
  if (config.sandbox && config.events)
    problems.push('EVENTS_URL has no effect with SANDBOX=1, because a sandbox stores nothing: set one of them');
  if (config.sandbox && replicatedDatabase(config))
    problems.push(
      'DATABASE_READ_URL has no effect with SANDBOX=1, because no replica has what a sandbox stores: set one of them',
    );
  problems.push(...misspeltVariables(env));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function valuesIn<T extends Readonly<Record<string, Variable<unknown>>>>(
  variables: T,
  env: Environment,
  problems: string[],
): ValuesOf<T> {
  const values = Object.entries(variables).map(([key, { name, wanted, parse, byDefault }]) => {
    const text = env[name]?.trim() ?? '';
    const value = text === '' ? byDefault : parse(text);
    if (text !== '' && value === undefined) problems.push(`${name} must be ${wanted}, not ${JSON.stringify(text)}`);
    return [key, value ?? byDefault];
  });
  return Object.fromEntries(values) as ValuesOf<T>;
}

function databaseOf(parts: Parts, problems: string[]): DatabaseConfig {
  const { folder, url, readUrl, readFrom, poolSize, prepare, acquireTimeoutMs, queryTimeoutMs } = parts;
  const limits = { poolSize, acquireTimeoutMs, queryTimeoutMs };
  const urls = readUrl === undefined ? undefined : readReadUrl(readUrl, problems);
  if (url === undefined) {
    if (readUrl !== undefined)
      problems.push('DATABASE_READ_URL must be set with DATABASE_URL: the embedded database has no replicas');
    return { kind: 'sqlite', folder, acquireTimeoutMs };
  }
  const server = readDatabaseUrl(url, problems);
  if (server?.kind === 'mariadb') {
    if (readUrl !== undefined)
      problems.push('DATABASE_READ_URL is for PostgreSQL: leave it out, or let MaxScale or ProxySQL divide the reads');
    if (!prepare)
      problems.push(
        'DATABASE_PREPARE=false is for PostgreSQL: the statements of MariaDB are always prepared, leave it out',
      );
    return { ...server, ...limits };
  }
  return { kind: 'postgres', url, replicas: urls && { urls, readFrom }, prepare, ...limits };
}

/** The messages never repeat a value, because both may be secret. */
function eventsOf({ eventsUrl: text, eventsSecret: secret }: Parts, problems: string[]): EventsConfig | undefined {
  const key = secret === undefined ? undefined : keyOf(secret);
  if (secret !== undefined && key === undefined)
    problems.push(
      'EVENTS_SECRET must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
    );
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isUsable) problems.push('EVENTS_URL must be an http or https URL without a user and a password');
  if (secret === undefined)
    problems.push('EVENTS_SECRET must be set with EVENTS_URL: a receiver cannot know otherwise who sends an event');
  return isUsable && key !== undefined ? { url, key } : undefined;
}

/** The messages never repeat the token, because it is a secret. */
function inspectorOf(
  { inspector: on, token, lines, mode }: Parts,
  env: Environment,
  problems: string[],
): Config['inspector'] {
  if (token !== undefined && /\p{Cc}/u.test(env['INSPECTOR_TOKEN'] ?? ''))
    problems.push('INSPECTOR_TOKEN must not contain line breaks or other control characters, not even at its end');
  if (token !== undefined && token.length < 16)
    problems.push('INSPECTOR_TOKEN must have at least 16 characters, or it can be guessed');
  // Every client behind a proxy on this machine, which may add no header, looks like one of this machine.
  if (on !== '0' && token === undefined && mode !== 'development' && mode !== 'test')
    problems.push('INSPECTOR needs INSPECTOR_TOKEN, or NODE_ENV=development on a machine that serves nobody else');
  return on === '0' ? undefined : { token, always: on === 'always', lines };
}

/** Shorter names are too close to those that other programs read. */
const SHORTEST = 6;

/**
 * A variable that is not read, and is almost one that is: `DATBASE_URL` would start the service on an embedded database without a word. One
 * that belongs to another program is accepted once the variable of the service is set, too, for example to its default.
 */
function misspeltVariables(env: Environment): string[] {
  const absent = NAMES.filter((name) => name.length >= SHORTEST && !env[name]?.trim());
  return Object.keys(env).flatMap((name) => {
    if (NAMES.includes(name)) return [];
    const forms = withoutOneLetter(name.toUpperCase());
    const meant = absent.find((one) => withoutOneLetter(one).some((form) => forms.includes(form)));
    return meant === undefined ? [] : [`${name} is not known: rename it to ${meant}, or set ${meant} as well`];
  });
}

/** Names that share such a form differ in a letter that is missing, added, wrong or in another place. */
const withoutOneLetter = (name: string): readonly string[] => [
  name,
  ...Array.from(name, (_, at) => name.slice(0, at) + name.slice(at + 1)),
];
