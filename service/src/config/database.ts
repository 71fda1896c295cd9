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
  readonly server: Readonly<ReturnType<typeof mariadbServer>>;
}

export type DatabaseConfig = PostgresConfig | SqliteConfig | MariadbConfig;

const LIKE =
  'must be a URL like postgres://user:password@host:5432/name, with several hosts like postgres://user:password@host1:5432,host2:5432/name, or like mariadb://user:password@host:3306/name';

/** The messages never repeat an address, because it contains a password. */
export function readDatabase(variables: Variables): DatabaseConfig {
  const { problems } = variables;
  const url = variables.text('DATABASE_URL');
  const folder = variables.text('DATA_DIR') ?? './data';
  const acquireTimeoutMs = variables.milliseconds('ACQUIRE_TIMEOUT_MS', 2000, 1);
  const queryTimeoutMs = variables.milliseconds('QUERY_TIMEOUT_MS', 5000, 1);
  const poolSize = variables.wholeNumber('DATABASE_POOL_SIZE', 10, 1, 1000);
  const prepare = variables.oneOf('DATABASE_PREPARE', ['true', 'false'], 'true') === 'true';
  if (url === undefined) return { kind: 'sqlite', folder, acquireTimeoutMs };
  const limits = { poolSize, acquireTimeoutMs, queryTimeoutMs };
  if (/^(?:mariadb|mysql):/i.test(url)) return { kind: 'mariadb', server: mariadbServer(url, problems), ...limits };
  if (postgresUrls(url).length === 0) problems.push(`DATABASE_URL ${LIKE}`);
  return { kind: 'postgres', url, prepare, ...limits };
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

/** `isVerified`: with TLS, and the certificate of an authority that Node trusts. */
function mariadbServer(text: string, problems: string[]) {
  const server = { host: '', port: 3306, user: '', password: '', database: '', isVerified: false };
  try {
    const url = new URL(text);
    const { 'ssl-mode': sslMode = 'DISABLED', ...unknown } = Object.fromEntries(url.searchParams);
    if (!/^(?:DISABLED|VERIFY_IDENTITY)$/.test(sslMode) || Object.keys(unknown).length > 0)
      problems.push('DATABASE_URL of MariaDB may have ssl-mode=VERIFY_IDENTITY or DISABLED, and no other parameter');
    server.host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    server.port = Number(url.port || 3306);
    server.user = decodeURIComponent(url.username);
    server.password = decodeURIComponent(url.password);
    server.database = decodeURIComponent(url.pathname.slice(1));
    server.isVerified = sslMode === 'VERIFY_IDENTITY';
  } catch {
    // No URL, or a percent sign in it begins no escape: the last part is still empty.
  }
  if (server.host === '' || server.database === '')
    problems.push('DATABASE_URL must be a URL like mariadb://user:password@host:3306/name, with one host');
  return server;
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
  const urls = postgresUrls(database.url);
  const hosts = urls.map(({ host, searchParams }) => searchParams.get('host') ?? (host || 'the default host'));
  return `PostgreSQL at ${hosts.join(',')}${urls[0]?.pathname ?? ''} (DATABASE_URL)`;
}
