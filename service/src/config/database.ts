import { join, resolve } from 'node:path';
import { splitHosts } from '@ambit/transaction/postgres';
import type { Variables } from './config.js';

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

/** A server of MariaDB, and how to reach it. */
interface MariadbServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** With TLS, and the certificate of an authority that Node trusts. */
  readonly isVerified: boolean;
}

export interface MariadbConfig extends ServerConfig {
  readonly kind: 'mariadb';
  readonly server: MariadbServer;
}

export type DatabaseConfig = PostgresConfig | SqliteConfig | MariadbConfig;

const LIKE_POSTGRES =
  'must be a URL like postgres://user:password@host:5432/name, with several hosts like postgres://user:password@host1:5432,host2:5432/name';

/** The messages never repeat an address, because it contains a password. */
export function readDatabase(variables: Variables): DatabaseConfig {
  const { problems } = variables;
  const [url, readUrl] = [variables.text('DATABASE_URL'), variables.text('DATABASE_READ_URL')];
  const folder = variables.text('DATA_DIR') ?? './data';
  const acquireTimeoutMs = variables.milliseconds('ACQUIRE_TIMEOUT_MS', 2000, 1);
  const queryTimeoutMs = variables.milliseconds('QUERY_TIMEOUT_MS', 5000, 1);
  const poolSize = variables.wholeNumber('DATABASE_POOL_SIZE', 10, 1, 1000);
  const prepare = variables.oneOf('DATABASE_PREPARE', ['true', 'false'], 'true') === 'true';
  const readFrom = variables.oneOf('DATABASE_READ_FROM', ['primary', 'replica'], 'primary');
  const isMariadb = url !== undefined && /^(?:mariadb|mysql):/i.test(url);
  if (readUrl !== undefined && (url === undefined || isMariadb))
    problems.push('DATABASE_READ_URL is for PostgreSQL, with its DATABASE_URL: leave it out');
  if (url === undefined) return { kind: 'sqlite', folder, acquireTimeoutMs };
  const limits = { poolSize, acquireTimeoutMs, queryTimeoutMs };
  if (isMariadb) return { kind: 'mariadb', server: mariadbServer(url, problems), ...limits };
  if (postgresUrls(url).length === 0)
    problems.push(`DATABASE_URL ${LIKE_POSTGRES}, or like mariadb://user:password@host:3306/name`);
  const urls = postgresUrls(readUrl ?? '').map(({ href }) => href);
  if (readUrl !== undefined && urls.length === 0) problems.push(`DATABASE_READ_URL ${LIKE_POSTGRES}`);
  const replicas = readUrl === undefined ? undefined : { urls, readFrom };
  return { kind: 'postgres', url, replicas, prepare, ...limits };
}

/** One URL for each host, or none if the text is invalid. */
function postgresUrls(text: string): URL[] {
  if (!/^postgres(?:ql)?:\/\/\S+$/i.test(text)) return [];
  try {
    // The driver accepts a percent sign that begins no escape, so this does, too.
    decodeURIComponent(text.replaceAll(/%(?![\da-f]{2})/gi, '%25'));
    return splitHosts(text).map((url) => new URL(url));
  } catch {
    return [];
  }
}

function mariadbServer(text: string, problems: string[]): MariadbServer {
  try {
    const { hostname, port, username, password, pathname, searchParams } = new URL(text);
    const [host = '', user = '', secret = '', database = ''] = [hostname, username, password, pathname.slice(1)].map(
      decodeURIComponent,
    );
    const { 'ssl-mode': sslMode = 'DISABLED', ...unknown } = Object.fromEntries(searchParams);
    if (!/^(?:DISABLED|VERIFY_IDENTITY)$/.test(sslMode) || Object.keys(unknown).length > 0)
      problems.push('DATABASE_URL of MariaDB may have ssl-mode=VERIFY_IDENTITY or DISABLED, and no other parameter');
    if (host !== '' && database !== '')
      return {
        host: host.replace(/^\[(.*)\]$/, '$1'),
        port: Number(port || 3306),
        user,
        password: secret,
        database,
        isVerified: sslMode === 'VERIFY_IDENTITY',
      };
  } catch {
    // No URL, or a percent sign in it begins no escape.
  }
  problems.push('DATABASE_URL must be a URL like mariadb://user:password@host:3306/name, with one host');
  return { host: '', port: 0, user: '', password: '', database: '', isVerified: false };
}

/** The database, if there are replicas of it. */
export function replicatedDatabase({ database }: { readonly database: DatabaseConfig }): ReplicatedConfig | undefined {
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

/** The servers of a URL and the name of the database, without the user and the password. */
function serversOf(text: string): string {
  const urls = postgresUrls(text);
  const hosts = urls.map(({ host, searchParams }) => searchParams.get('host') ?? (host || 'the default host'));
  return `${hosts.join(',')}${urls[0]?.pathname ?? ''}`;
}
