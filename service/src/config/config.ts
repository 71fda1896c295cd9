export const HOST_VARIANTS = ['fastify', 'express'] as const;
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

interface PostgresConfig {
  readonly kind: 'postgres';
  readonly url: string;
  readonly poolSize: number;
  readonly prepare: boolean;
  /** How long a request waits for a connection. */
  readonly acquireTimeoutMs: number;
  /** After how long a statement is cancelled. */
  readonly queryTimeoutMs: number;
}

interface SqliteConfig {
  readonly kind: 'sqlite';
  /** `:memory:` for a database that is gone with the process. */
  readonly folder: string;
  /** How long a request waits for its turn to write. */
  readonly acquireTimeoutMs: number;
}

export type DatabaseConfig = PostgresConfig | SqliteConfig;

export interface Config {
  readonly hostVariant: (typeof HOST_VARIANTS)[number];
  readonly host: string;
  readonly port: number;
  readonly database: DatabaseConfig;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** How long to try again at start while the database cannot be used; a try that has begun is waited for. */
  readonly startTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  /** After how long the transaction of a request is rolled back. */
  readonly transactionTimeoutMs: number;
  /** `/metrics`, in Prometheus' format; metrics go nowhere else. */
  readonly metrics: boolean;
  /** What metrics call the service. */
  readonly serviceName: string;
  /** Spans for the OpenTelemetry SDK that the process was started with, and their ids in the log; neither otherwise. */
  readonly traces: boolean;
  /** The inspector at `/inspector`, for this machine, or for whoever knows the token. */
  readonly inspector: { readonly token: string | undefined } | undefined;
}

/** Registered as `IConfigService`: `config.get('port')` is a number. */
export interface IConfigService {
  get<K extends keyof Config>(name: K): Config[K];
}

export class ConfigService implements IConfigService {
  readonly #config: Config;

  constructor(config: Config) {
    this.#config = config;
  }

  get<K extends keyof Config>(name: K): Config[K] {
    return this.#config[name];
  }
}
