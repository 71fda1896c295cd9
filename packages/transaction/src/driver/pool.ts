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
import { unlessCancelled } from '../pool/checkout.js';
import { type Leave, WaitQueue } from '../pool/wait-queue.js';
import { DriverConnection } from './connection.js';
import type { Driver, Wire } from './driver.js';
import { type DriverPoolOptions, type DriverSettings, readDriverOptions } from './options.js';

/** The pool contract over a driver's pool: who waits, for how long and in which order, and how it closes. */
export class DriverPool implements DatabasePool {
  readonly afterBegin: AfterBegin | undefined;
  readonly #driver: Driver;
  readonly #settings: DriverSettings;
  readonly #queue: WaitQueue;
  readonly #inUse = new LinkedList<DriverConnection>();
  #closing: Promise<void> | undefined;

  constructor(driver: Driver, options: DriverPoolOptions) {
    this.#driver = driver;
    this.#settings = readDriverOptions(options);
    this.afterBegin = this.#settings.afterBegin;
    this.#queue = new WaitQueue(driver.max, this.#settings);
  }

  /** Where the driver does not say how many connections are open, only those in use are counted. */
  get size(): PoolSize {
    const { open, idle } = this.#driver.size ?? { open: this.#queue.taken, idle: 0 };
    return { open, idle, waiting: this.#queue.waiting };
  }

  async getConnection(options: AcquireOptions = {}): Promise<DriverConnection> {
    const { clock, acquireTimeoutMs } = this.#settings;
    const { timeoutMs = acquireTimeoutMs } = options;
    const deadline = clock.now() + timeoutMs;
    const place = this.#queue.enter(options, timeoutMs);
    const leave = place instanceof Promise ? await place : place;
    const wire = await this.#connect(leave, deadline, options);
    const onRelease = (possiblyBroken: boolean): void => {
      this.#inUse.remove(connection);
      release(wire, possiblyBroken, leave);
    };
    const { language } = this.#driver;
    const connection: DriverConnection = new DriverConnection(wire, language, options.readOnly === true, onRelease);
    this.#inUse.add(connection);
    return connection;
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#withConnection((connection) => connection.query<R>(sql, params));
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    return this.#withConnection((connection) => connection.execute<R>(sql, params, options));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #withConnection<T>(work: (connection: DriverConnection) => Promise<T>): Promise<T> {
    const connection = await this.getConnection();
    try {
      return await work(connection);
    } finally {
      connection.release();
    }
  }

  /** The queue admits no more callers than there may be connections; the driver may have other users. */
  async #connect(leave: Leave, deadline: number, options: AcquireOptions): Promise<Wire> {
    const { clock } = this.#settings;
    const late = (): Error => new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', 'The driver gave no connection in time');
    const connecting = (async () => this.#driver.connect(options))();
    try {
      return await within(clock, Math.max(0, deadline - clock.now()), unlessCancelled(connecting, options), late);
    } catch (error) {
      // It may still arrive; the place stays taken until it has.
      connecting.then((wire) => release(wire, false, leave), leave);
      if (isTransactionError(error)) throw error;
      throw new TransactionError('AMBIT_TX_ACQUIRE_FAILED', 'The driver gave no connection', { cause: error });
    }
  }

  async #close(): Promise<void> {
    const { closeTimeoutMs, keepOpen } = this.#settings;
    this.#queue.close();
    if (!(await this.#isEmptyWithin(closeTimeoutMs))) {
      for (let used = this.#inUse.first; used; used = this.#inUse.first) used.takeAway();
      await this.#isEmptyWithin(closeTimeoutMs);
    }
    if (!keepOpen) await this.#driver.close(closeTimeoutMs);
  }

  async #isEmptyWithin(ms: number): Promise<boolean> {
    const overdue = (): Error => new Error('overdue');
    return within(this.#settings.clock, ms, this.#queue.empty(), overdue).then(
      () => true,
      () => false,
    );
  }
}

/** The place is free as soon as the driver has the connection back, or could not take it. */
function release(wire: Wire, possiblyBroken: boolean, leave: Leave): void {
  let releasing: void | Promise<void>;
  try {
    releasing = wire.release(possiblyBroken);
  } catch {
    return leave();
  }
  if (releasing) releasing.then(leave, leave);
  else leave();
}
