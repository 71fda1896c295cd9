export const HOST_VARIANTS = ['fastify', 'express'] as const;
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The values of `TRANSACTION_CHECK`. */
export const TRANSACTION_CHECKS = { 0: 'off', 1: 'report', throw: 'throw' } as const;

/** The values of `DATABASE_READ_FROM`. */
export const READ_FROM = ['primary', 'replica'] as const;

export interface ReplicasConfig {
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

interface SqliteConfig {
  readonly kind: 'sqlite';
  /** `:memory:` for a database that is lost when the process exits. */
  readonly folder: string;
  /** How long a request waits until it may write. */
  readonly acquireTimeoutMs: number;
}

export type DatabaseConfig = PostgresConfig | SqliteConfig;

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
  /** How long the start retries while the database is unavailable; an attempt in progress is completed. */
  readonly startTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  /** How long idle connections stay open at shutdown, for a request that is on its way already. */
  readonly keepIdleMs: number;
  /** After how long the transaction of a request is rolled back. */
  readonly transactionTimeoutMs: number;
  /** What happens where a transaction is used as it should not be: nothing, a line in the log, or that it is refused as well. */
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
