import { alike } from '@ambit/container/tools';
import { keyOf } from '../events/sender.js';
import { ExplainedError } from '../problem.js';
import { readDatabase } from './database.js';

export const HOST_VARIANTS = ['fastify', 'express'] as const;

const MOST_MS = 600_000;

/** All invalid environment variables, in one message. */
export class ConfigError extends ExplainedError {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration is wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`, 78);
  }
}

/** Reads environment variables, and collects what is wrong with them. An empty value means the default, like an absent one. */
export class Variables {
  readonly problems: string[] = [];
  readonly #known = new Set<string>();

  constructor(private readonly env: Readonly<Record<string, string | undefined>>) {}

  /** Its user checks the text, with messages that do not repeat a secret. */
  text(name: string): string | undefined {
    this.#known.add(name);
    const text = this.env[name]?.trim();
    return text === '' ? undefined : text;
  }

  oneOf<const T extends string>(name: string, values: readonly T[], byDefault: NoInfer<T>): T {
    const text = this.text(name) ?? byDefault;
    const value = values.find((each) => each === text);
    return value ?? this.#refuse(name, `one of ${values.join(', ')}`, byDefault);
  }

  isOn(name: string): boolean {
    return this.oneOf(name, ['0', '1'], '0') === '1';
  }

  wholeNumber(name: string, byDefault: number, min: number, max: number): number {
    const text = this.text(name) ?? String(byDefault);
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : this.#refuse(name, `a whole number from ${min} to ${max}`, byDefault);
  }

  milliseconds(name: string, byDefault: number, min = 0): number {
    return this.wholeNumber(name, byDefault, min, MOST_MS);
  }

  /**
   * Refuses a name that is almost one of a variable that was read, and is not set: `DATBASE_URL` would start the service on an embedded
   * database without a word. A short name is too close to those of other programs.
   */
  refuseMisspelt(): void {
    const absent = [...this.#known].filter((name) => name.length >= SHORTEST && this.text(name) === undefined);
    for (const name of Object.keys(this.env).filter((each) => !this.#known.has(each))) {
      const meant = absent.find((one) => alike(one, name));
      if (meant) this.problems.push(`${name} is not known: rename it to ${meant}, or set ${meant} as well`);
    }
  }

  #refuse<T>(name: string, wanted: string, byDefault: T): T {
    this.problems.push(`${name} must be ${wanted}, not ${JSON.stringify(this.text(name))}`);
    return byDefault;
  }
}

const SHORTEST = 6;

export interface EventsConfig {
  readonly url: URL;
  /** Signs the events. */
  readonly key: Buffer;
}

export type Config = Readonly<ReturnType<typeof settingsIn>>;

/** Registered as `IConfigService`: `config.get('port')` is a number. */
export interface IConfigService {
  get<K extends keyof Config>(name: K): Config[K];
}

/**
 * Reads the configuration of the service. An empty value means the default, like an absent one.
 *
 * @param env - The environment, such as `process.env`.
 * @returns The configuration, with defaults for what is not set.
 * @throws ConfigError - Lists all problems.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const variables = new Variables(env);
  const config = settingsIn(variables);
  variables.refuseMisspelt();
  if (variables.problems.length > 0) throw new ConfigError(variables.problems);
  return config;
}

/** README.md says what every variable is for. */
function settingsIn(variables: Variables) {
  return {
    hostVariant: variables.oneOf('HOST_VARIANT', HOST_VARIANTS, 'fastify'),
    host: variables.text('HOST') ?? '127.0.0.1',
    port: variables.wholeNumber('PORT', 3000, 0, 65_535),
    database: readDatabase(variables),
    /** How long the start retries while the database is unavailable; an attempt in progress is completed. */
    startTimeoutMs: variables.milliseconds('START_TIMEOUT_MS', 10_000),
    shutdownTimeoutMs: variables.milliseconds('SHUTDOWN_TIMEOUT_MS', 10_000),
    /** How long idle connections stay open at shutdown, for a request that is on its way already. */
    keepIdleMs: variables.wholeNumber('KEEP_IDLE_MS', 0, 0, 60_000),
    maxConnections: variables.wholeNumber('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    transactionTimeoutMs: variables.milliseconds('TRANSACTION_TIMEOUT_MS', 8000, 1),
    /** A misused transaction is ignored, logged, or logged and refused. */
    transactionCheck: variables.oneOf('TRANSACTION_CHECK', ['0', '1', 'throw'], '0'),
    logLevel: variables.oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    metrics: variables.isOn('METRICS'),
    traces: variables.isOn('TRACES'),
    /** The name of the service in metrics and events. */
    serviceName: variables.text('OTEL_SERVICE_NAME') ?? 'ambit-service',
    events: readEvents(variables),
    inspector: readInspector(variables),
  };
}

/** The messages never repeat a value, because both may be secret. */
function readEvents(variables: Variables): EventsConfig | undefined {
  const [text, secret = ''] = [variables.text('EVENTS_URL'), variables.text('EVENTS_SECRET')];
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isUsable) variables.problems.push('EVENTS_URL must be an http or https URL without a user and a password');
  const key = keyOf(secret);
  if (key === undefined)
    variables.problems.push(
      'EVENTS_SECRET must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
    );
  return isUsable && key !== undefined ? { url, key } : undefined;
}

/** `always` records from the start. */
function readInspector(variables: Variables) {
  const on = variables.oneOf('INSPECTOR', ['0', '1', 'always'], '0');
  const token = variables.text('INSPECTOR_TOKEN');
  const isForDevelopment = /^(?:development|test)$/.test(variables.text('NODE_ENV') ?? '');
  if (on === '0') return undefined;
  // Every client behind a proxy on this machine, which may add no header, looks like one of this machine.
  if (token === undefined && !isForDevelopment)
    variables.problems.push(
      'INSPECTOR needs INSPECTOR_TOKEN, or NODE_ENV=development on a machine that serves nobody else',
    );
  if (token !== undefined && !/^\P{Cc}{16,}$/u.test(token))
    variables.problems.push(
      'INSPECTOR_TOKEN must have at least 16 characters, and no line breaks, or it can be guessed',
    );
  return { always: on === 'always', ...(token !== undefined && { token }) };
}
