import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { onGivenUp } from '../acquisition.js';
import { within } from '../clock.js';
import type { AcquireOptions, IDatabasePool, IPooledConnection, PoolSize, Row } from '../contract.js';
import { aborted, TransactionError } from '../errors.js';
import { given } from '../options.js';
import { type Leave, WaitingLine } from '../waiting-line.js';
import { PostgresConnection } from './connection.js';
import { type PostgresPoolOptions, type PostgresSettings, readPostgresOptions } from './options.js';
import { StatementNames } from './statement-names.js';

/** A pool that hands out as many connections as it may, in the order asked, and none whose state is in doubt. */
export class PostgresPool implements IDatabasePool {
  readonly #settings: PostgresSettings;
  readonly #pool: Pool;
  readonly #line: WaitingLine;
  readonly #names: StatementNames | undefined;
  readonly #health = new WeakMap<PoolClient, { died: boolean }>();
  readonly #onLoan = new Set<PostgresConnection>();
  #closing: Promise<void> | undefined;

  constructor(options: PostgresPoolOptions) {
    const settings = readPostgresOptions(options);
    this.#settings = settings;
    this.#line = new WaitingLine(settings.max, settings.clock);
    this.#names = settings.prepare ? new StatementNames() : undefined;
    this.#pool = new Pool(driverOptions(settings));
    // A client without an 'error' listener takes the process down when its backend dies, so each has one for life.
    this.#pool.on('connect', (client) => this.#watch(client));
    this.#pool.on('error', settings.onError);
  }

  get size(): PoolSize {
    return { open: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#line.waiting };
  }

  async getConnection(options: AcquireOptions = {}): Promise<IPooledConnection> {
    const { clock, acquireTimeoutMs } = this.#settings;
    const { timeoutMs = acquireTimeoutMs } = options;
    const deadline = clock.now() + timeoutMs;
    const place = this.#line.enter(options, timeoutMs);
    const leave = place instanceof Promise ? await place : place;
    const client = await this.#connect(leave, deadline, options);
    const health = this.#health.get(client) ?? this.#watch(client);
    const connection: PostgresConnection = new PostgresConnection({
      client,
      health,
      settings: this.#settings,
      names: this.#names,
      onReturn: () => {
        this.#onLoan.delete(connection);
        leave();
      },
    });
    this.#onLoan.add(connection);
    return connection;
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const connection = await this.getConnection();
    try {
      return await connection.query<R>(sql, params);
    } finally {
      connection.release();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { clock, closeTimeoutMs } = this.#settings;
    this.#line.close();
    const overdue = (): Error => new Error('overdue');
    await within(clock, closeTimeoutMs, this.#line.empty(), overdue).catch(() => {
      for (const connection of this.#onLoan) connection.release(true);
    });
    await this.#pool.end();
  }

  #watch(client: PoolClient): { died: boolean } {
    const health = { died: false };
    this.#health.set(client, health);
    const died = (): void => void (health.died = true);
    client.on('error', died);
    client.on('end', died);
    return health;
  }

  /** The line admits no more than the driver's pool holds, so this waits for a new connection at most. */
  async #connect(leave: Leave, deadline: number, options: AcquireOptions): Promise<PoolClient> {
    const { clock } = this.#settings;
    const isAtHome = this.#pool.idleCount > this.#pool.waitingCount;
    const connecting = this.#pool.connect();
    const late = (): Error =>
      new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', 'A new connection to PostgreSQL took too long');
    try {
      if (isAtHome) return await connecting;
      return await within(clock, Math.max(0, deadline - clock.now()), orGivenUp(connecting, options), late);
    } catch (error) {
      // It may still arrive; the place stays taken until it has.
      connecting
        .then(
          (client) => client.release(),
          () => undefined,
        )
        .finally(leave);
      if (error instanceof TransactionError) throw error;
      throw new TransactionError('AMBIT_TX_ACQUIRE_FAILED', 'PostgreSQL gave no connection', { cause: error });
    }
  }
}

function orGivenUp<T>(promise: Promise<T>, options: AcquireOptions): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stopListening = onGivenUp(options, (why) => reject(aborted(why)));
    promise.then(resolve, reject).finally(stopListening);
  });
}

function driverOptions(settings: PostgresSettings): PoolConfig {
  const { connectionString, host, port, user, password, database, ssl, applicationName, statementTimeoutMs } = settings;
  const asked = {
    connectionString,
    host,
    port,
    user,
    password,
    database,
    ssl,
    application_name: applicationName,
    statement_timeout: statementTimeoutMs,
  };
  return {
    // An option given as undefined would hide what the connection string or the environment says.
    ...given(asked),
    max: settings.max,
    connectionTimeoutMillis: orNever(settings.connectTimeoutMs),
    idleTimeoutMillis: orNever(settings.idleTimeoutMs),
    keepAlive: true,
  };
}

/** The driver says "never" with 0. */
function orNever(ms: number): number {
  return ms >= 2 ** 31 ? 0 : ms;
}
