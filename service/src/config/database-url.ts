import { splitHosts } from '@ambit/transaction/postgres';

/** The messages about these variables never repeat a value, because it contains a password. */
const POSTGRES_SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const READERS = ['any', 'read-only', 'standby', 'prefer-standby'];

/** The values that the driver of PostgreSQL, or libpq, accepts for parameters with a fixed set of values. */
const POSTGRES_VALUES = {
  DATABASE_URL: {
    target_session_attrs: ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'],
    sslmode: POSTGRES_SSL_MODES,
  },
  DATABASE_READ_URL: { target_session_attrs: READERS, sslmode: POSTGRES_SSL_MODES },
};

const MARIADB_SSL_MODES = ['DISABLED', 'REQUIRED', 'VERIFY_CA', 'VERIFY_IDENTITY'] as const;
const MARIADB_PARAMETERS: ReadonlySet<string> = new Set(['ssl-mode', 'ssl-ca', 'ssl-cert', 'ssl-key']);

/** A server of MariaDB, and how to reach it. */
export interface MariadbServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly sslMode: (typeof MARIADB_SSL_MODES)[number];
  /** Files in PEM format. */
  readonly sslFiles: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

type Address = { readonly kind: 'postgres' } | { readonly kind: 'mariadb'; readonly server: MariadbServer };

/** What `DATABASE_URL` leads to; adds what is wrong with it to the problems. */
export function readDatabaseUrl(text: string, problems: string[]): Address | undefined {
  if (/^(?:mariadb|mysql):/i.test(text)) {
    const server = readMariadbUrl(text, problems);
    return server && { kind: 'mariadb', server };
  }
  if (/^(?:libsql|https?|wss?):/i.test(text)) {
    problems.push(
      'DATABASE_URL must not lead to a server of libSQL: leave it out, and the service embeds libSQL in the folder DATA_DIR.' +
        ' docs/service/distributed-engines.md says why',
    );
    return undefined;
  }
  problems.push(...problemsOfPostgresUrl('DATABASE_URL', text));
  return { kind: 'postgres' };
}

/** One URL for each server in `DATABASE_READ_URL`. */
export function readReadUrl(text: string, problems: string[]): readonly string[] | undefined {
  const wrong = problemsOfPostgresUrl('DATABASE_READ_URL', text);
  problems.push(...wrong);
  return wrong.length > 0 ? undefined : splitHosts(text);
}

function problemsOfPostgresUrl(variable: keyof typeof POSTGRES_VALUES, text: string): string[] {
  const [first] = postgresUrls(text);
  if (first === undefined) {
    const mariadb = variable === 'DATABASE_URL' ? ', or like mariadb://user:password@host:3306/name' : '';
    return [
      `${variable} must be a URL like postgres://user:password@host:5432/name,` +
        ` with several hosts like postgres://user:password@host1:5432,host2:5432/name${mariadb}`,
    ];
  }
  return Object.entries(POSTGRES_VALUES[variable])
    .filter(([name, values]) => !first.searchParams.getAll(name).every((value) => values.includes(value)))
    .map(([name, values]) => `${name} in ${variable} must be one of ${values.join(', ')}`);
}

/** One URL for each host, or none if the text is invalid. */
function postgresUrls(text: string): URL[] {
  if (!/^postgres(?:ql)?:\/\/./i.test(text)) return [];
  try {
    // The driver accepts a percent sign that begins no escape, so this does, too.
    decodeURIComponent(text.replaceAll(/%(?![\da-f]{2})/gi, '%25'));
    return splitHosts(text).map((url) => new URL(url));
  } catch {
    return [];
  }
}

/** The servers of a URL for PostgreSQL and the name of the database, without the user and the password. */
export function serversOf(text: string): string {
  const urls = postgresUrls(text);
  const hosts = urls.map(({ host, searchParams }) => searchParams.get('host') ?? (host || 'the default host'));
  return `${hosts.join(',')}${urls[0]?.pathname ?? ''}`;
}

function readMariadbUrl(text: string, problems: string[]): MariadbServer | undefined {
  const parts = mariadbParts(text);
  if (!parts) {
    problems.push('DATABASE_URL must be a URL like mariadb://user:password@host:3306/name, with one host');
    return undefined;
  }
  const { parameters, ...server } = parts;
  const unknown = Object.keys(parameters).filter((name) => !MARIADB_PARAMETERS.has(name));
  if (unknown.length > 0)
    problems.push(`DATABASE_URL has parameters that are not known for MariaDB: ${unknown.join(', ')}`);
  const { 'ssl-ca': ca, 'ssl-cert': cert, 'ssl-key': key } = parameters;
  const wanted = parameters['ssl-mode'] ?? (ca === undefined ? 'DISABLED' : 'VERIFY_IDENTITY');
  const sslMode = MARIADB_SSL_MODES.find((mode) => mode === wanted.toUpperCase());
  if (!sslMode) problems.push(`ssl-mode in DATABASE_URL must be one of ${MARIADB_SSL_MODES.join(', ')}`);
  const sslFiles = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return sslMode && { ...server, sslMode, sslFiles };
}

type Parts = Omit<MariadbServer, 'sslMode' | 'sslFiles'> & { parameters: Record<string, string | undefined> };

function mariadbParts(text: string): Parts | undefined {
  if (!URL.canParse(text)) return undefined;
  const { hostname, port, username, password, pathname, searchParams } = new URL(text);
  try {
    const database = decodeURIComponent(pathname.slice(1));
    if (hostname === '' || database === '' || database.includes('/')) return undefined;
    return {
      host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1'),
      port: Number(port || 3306),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database,
      parameters: Object.fromEntries(searchParams),
    };
  } catch {
    // A percent sign that begins no escape.
    return undefined;
  }
}
