import { unlessCancelled } from '../pool/checkout.js';
import { within } from '../core/clock.js';
import type {
  AcquireOptions,
  AfterBegin,
  DatabasePool,
  ExecuteOptions,
  ExecuteResult,
  PoolSize,
  Row,
} from '../core/contract.js';
import { isTransactionError, TransactionError } from '../core/errors.js';
import { LinkedList } from '../core/linked-list.js';
import { type Leave, WaitQueue } from '../pool/wait-queue.js';
import { IdleSessions } from './idle-sessions.js';
import { PostgresConnection } from './connection.js';
import { noConnection } from './errors.js';
import {
  type PostgresPoolOptions,
  type PostgresSettings,
  readPostgresOptions,
  type TargetSessionAttrs,
} from './options.js';
import type { Session } from './session.js';
import { StatementNames } from './statement.js';

const ONLY_READ: ReadonlySet<TargetSessionAttrs | undefined> = new Set([
  'standby',
  'read-only',
  'prefer-standby',
] as const);

/** A connection pool that hands out connections in the order asked, and none that may be broken. */
export class PostgresPool implements DatabasePool {
  readonly afterBegin: AfterBegin | undefined;
  readonly #settings: PostgresSettings;
  readonly #sessions: IdleSessions;
  readonly #queue: WaitQueue;
  readonly #names: StatementNames | undefined;
  /** A write is then a mistake of the caller, and not the fault of a load balancer that led us to a standby. */
  readonly #onlyReads: boolean;
  readonly #inUse = new LinkedList<PostgresConnection>();
  #closing: Promise<void> | undefined;

  constructor(options: PostgresPoolOptions) {
    const settings = readPostgresOptions(options);
    this.afterBegin = settings.afterBegin;
    this.#settings = settings;
    this.#queue = new WaitQueue(settings.max, settings);
    this.#names = settings.prepare ? new StatementNames() : undefined;
    this.#onlyReads = ONLY_READ.has(settings.target);
    this.#sessions = new IdleSessions(settings);
  }

  get size(): PoolSize {
    return { open: this.#sessions.open, idle: this.#sessions.idle, waiting: this.#queue.waiting };
  }

  getConnection(options?: AcquireOptions): Promise<PostgresConnection> {
    return this.#checkOut(options);
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const connection = await this.#checkOut();
    try {
      return await connection.query<R>(sql, params);
    } finally {
      connection.release();
    }
  }

  async execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    const connection = await this.#checkOut();
    try {
      return await connection.execute<R>(sql, params, options);
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

  async #checkOut(options?: AcquireOptions): Promise<PostgresConnection> {
    const { clock, acquireTimeoutMs } = this.#settings;
    const timeoutMs = options?.timeoutMs ?? acquireTimeoutMs;
    const now = clock.now();
    const place = this.#queue.enter(options, timeoutMs);
    const leave = place instanceof Promise ? await place : place;
    const session = this.#sessions.take(now) ?? (await this.#connect(leave, now + timeoutMs, options));
    session.checkedOutAt = now;
    const connection: PostgresConnection = new PostgresConnection({
      session,
      settings: this.#settings,
      names: this.#names,
      forReading: options?.readOnly === true || this.#onlyReads,
      onRelease: (possiblyBroken) => {
        this.#inUse.remove(connection);
        this.#sessions.release(session, { possiblyBroken });
        leave();
      },
    });
    this.#inUse.add(connection);
    return connection;
  }

  async #close(): Promise<void> {
    const { clock, closeTimeoutMs } = this.#settings;
    this.#queue.close();
    const overdue = (): Error => new Error('overdue');
    await within(clock, closeTimeoutMs, this.#queue.empty(), overdue).catch(() => {
      for (let used = this.#inUse.first; used; used = this.#inUse.first) used.takeAway();
    });
    await this.#sessions.end();
  }

  /** The queue admits no more callers than there may be connections, so a new connection has its place. */
  async #connect(leave: Leave, deadline: number, options: AcquireOptions = {}): Promise<Session> {
    const { clock } = this.#settings;
    const connecting = this.#sessions.connect(options.readOnly === true);
    const late = (): Error => {
      const { full: cause } = this.#sessions;
      if (!cause)
        return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', 'A new connection to PostgreSQL took too long');
      const what = 'PostgreSQL has no room for another connection, and none of those in use was returned in time';
      return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', what, { cause });
    };
    try {
      return await within(clock, Math.max(0, deadline - clock.now()), unlessCancelled(connecting, options), late);
    } catch (error) {
      // It may still arrive; the place stays taken until it has.
      connecting
        .then(
          (session) => this.#sessions.release(session),
          () => undefined,
        )
        .finally(leave);
      throw isTransactionError(error) ? error : noConnection(error);
    }
  }
}
