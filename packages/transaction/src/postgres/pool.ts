import { onGivenUp } from '../acquisition.js';
import { within } from '../clock.js';
import type { AcquireOptions, IDatabasePool, IPooledConnection, PoolSize, Row } from '../contract.js';
import { aborted, TransactionError } from '../errors.js';
import { LinkedList } from '../linked-list.js';
import { type Leave, WaitingLine } from '../waiting-line.js';
import { Clients, type Session } from './clients.js';
import { PostgresConnection } from './connection.js';
import { type PostgresPoolOptions, type PostgresSettings, readPostgresOptions } from './options.js';
import { StatementNames } from './statement-names.js';

/** A pool that hands out as many connections as it may, in the order asked, and none whose state is in doubt. */
export class PostgresPool implements IDatabasePool {
  readonly #settings: PostgresSettings;
  readonly #clients: Clients;
  readonly #line: WaitingLine;
  readonly #names: StatementNames | undefined;
  readonly #onLoan = new LinkedList<PostgresConnection>();
  #closing: Promise<void> | undefined;

  constructor(options: PostgresPoolOptions) {
    const settings = readPostgresOptions(options);
    this.#settings = settings;
    this.#line = new WaitingLine(settings.max, settings.clock);
    this.#names = settings.prepare ? new StatementNames() : undefined;
    this.#clients = new Clients(settings);
  }

  get size(): PoolSize {
    return { open: this.#clients.open, idle: this.#clients.idle, waiting: this.#line.waiting };
  }

  getConnection(options?: AcquireOptions): Promise<IPooledConnection> {
    return this.#borrow(options);
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const connection = await this.#borrow();
    try {
      return await connection.query<R>(sql, params);
    } finally {
      // close() may have taken it away, and then that is what the query says.
      if (!connection.released) connection.release();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #borrow(options: AcquireOptions = {}): Promise<PostgresConnection> {
    const { clock, acquireTimeoutMs } = this.#settings;
    const { timeoutMs = acquireTimeoutMs } = options;
    const deadline = clock.now() + timeoutMs;
    const place = this.#line.enter(options, timeoutMs);
    const leave = place instanceof Promise ? await place : place;
    const session = this.#clients.take() ?? (await this.#connect(leave, deadline, options));
    const connection: PostgresConnection = new PostgresConnection({
      session,
      settings: this.#settings,
      names: this.#names,
      onReturn: (inDoubt) => {
        this.#onLoan.remove(connection);
        this.#clients.giveBack(session, { inDoubt });
        leave();
      },
    });
    this.#onLoan.add(connection);
    return connection;
  }

  async #close(): Promise<void> {
    const { clock, closeTimeoutMs } = this.#settings;
    this.#line.close();
    const overdue = (): Error => new Error('overdue');
    await within(clock, closeTimeoutMs, this.#line.empty(), overdue).catch(() => {
      for (let lent = this.#onLoan.first; lent; lent = this.#onLoan.first) lent.release(true);
    });
    await this.#clients.end();
  }

  /** The line admits no more than there may be, so one that is to come has its place. */
  async #connect(leave: Leave, deadline: number, options: AcquireOptions): Promise<Session> {
    const { clock } = this.#settings;
    const connecting = this.#clients.connect();
    const late = (): Error =>
      new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', 'A new connection to PostgreSQL took too long');
    try {
      return await within(clock, Math.max(0, deadline - clock.now()), orGivenUp(connecting, options), late);
    } catch (error) {
      // It may still arrive; the place stays taken until it has.
      connecting
        .then(
          (session) => this.#clients.giveBack(session),
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
