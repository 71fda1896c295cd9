import { isIP } from 'node:net';
import { problemsOfDatabaseUrl } from './database-url.js';
import { readEvents } from './events-url.js';
import { type Config, type DatabaseConfig, HOST_VARIANTS, LOG_LEVELS, TRANSACTION_CHECKS } from './config.js';

/** All invalid environment variables, in one message. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** EX_CONFIG of sysexits.h. */
  readonly exitCode = 78;

  constructor(readonly problems: readonly string[]) {
    super(`The configuration is wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a ConfigError that lists all problems. An empty value means the default, like an absent one. */
export function readConfig(env: Environment): Config {
  const problems: string[] = [];

  const read = <T>(name: string, fallback: T, parse: (text: string) => T | undefined, wanted: string): T => {
    const text = env[name]?.trim();
    if (text === undefined || text === '') return fallback;
    const value = parse(text);
    if (value === undefined) problems.push(`${name} must be ${wanted}, not ${JSON.stringify(text)}`);
    return value ?? fallback;
  };
  const oneOf = <T extends string>(name: string, values: readonly T[], fallback: T): T =>
    read(name, fallback, (text) => values.find((value) => value === text), `one of ${values.join(', ')}`);
  const wholeNumber = (name: string, fallback: number, min: number, max: number): number =>
    read(name, fallback, (text) => inRange(text, min, max), `a whole number from ${min} to ${max}`);

  const onOff = (name: string): boolean => oneOf(name, ['0', '1'], '0') === '1';
  const inspector = (): Config['inspector'] => {
    // The messages never repeat the value, because it is a secret.
    const given = env['INSPECTOR_TOKEN'] ?? '';
    const token = given.trim() || undefined;
    if (token !== undefined && /\p{Cc}/u.test(given))
      problems.push('INSPECTOR_TOKEN must not contain line breaks or other control characters, not even at its end');
    if (token !== undefined && token.length < 16)
      problems.push('INSPECTOR_TOKEN must have at least 16 characters, or it can be guessed');
    const on = oneOf('INSPECTOR', ['0', '1', 'always'], '0');
    const lines = onOff('INSPECTOR_LINES');
    return on === '0' ? undefined : { token, lines, always: on === 'always' };
  };

  const database = (): DatabaseConfig => {
    const poolSize = wholeNumber('DATABASE_POOL_SIZE', 10, 1, 1000);
    const prepare = oneOf('DATABASE_PREPARE', ['true', 'false'], 'true') === 'true';
    const acquireTimeoutMs = wholeNumber('ACQUIRE_TIMEOUT_MS', 2000, 1, 600_000);
    const queryTimeoutMs = wholeNumber('QUERY_TIMEOUT_MS', 5000, 1, 600_000);
    const folder = read<string>('DATA_DIR', './data', (text) => text, 'a folder');
    // The messages never repeat the value, because it contains a password.
    const url = env['DATABASE_URL']?.trim();
    if (url === undefined || url === '') return { kind: 'sqlite', folder, acquireTimeoutMs };
    problems.push(...problemsOfDatabaseUrl(url));
    return { kind: 'postgres', url, poolSize, prepare, acquireTimeoutMs, queryTimeoutMs };
  };

  const config: Config = {
    hostVariant: oneOf('HOST_VARIANT', HOST_VARIANTS, 'fastify'),
    host: read<string>('HOST', '127.0.0.1', (text) => (isHost(text) ? text : undefined), 'an address to listen on'),
    port: wholeNumber('PORT', 3000, 0, 65_535),
    database: database(),
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    startTimeoutMs: wholeNumber('START_TIMEOUT_MS', 10_000, 0, 600_000),
    shutdownTimeoutMs: wholeNumber('SHUTDOWN_TIMEOUT_MS', 10_000, 0, 600_000),
    transactionTimeoutMs: wholeNumber('TRANSACTION_TIMEOUT_MS', 8000, 1, 600_000),
    transactionCheck: TRANSACTION_CHECKS[oneOf('TRANSACTION_CHECK', ['0', '1', 'throw'], '0')],
    metrics: onOff('METRICS'),
    serviceName: read<string>('OTEL_SERVICE_NAME', 'ambit-service', (text) => text, 'a name'),
    traces: onOff('TRACES'),
    events: readEvents(env, problems),
    inspector: inspector(),
    sandbox: onOff('SANDBOX'),
  };
  if (config.sandbox && env['NODE_ENV'] === 'production')
    problems.push('SANDBOX is for tests and must not be 1 where NODE_ENV is production');
  if (config.sandbox && config.events)
    problems.push('EVENTS_URL has no effect with SANDBOX=1, because a sandbox stores nothing: set one of them');
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
