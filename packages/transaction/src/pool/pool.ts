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
import { publishedOutside, statementOutside } from '../core/events.js';
import { LinkedList } from '../core/linked-list.js';
import { unlessCancelled } from './checkout.js';
import { PooledConnection } from './connection.js';
import type { Driver, Wire } from './driver.js';
import type { PoolSettings } from './options.js';
import { TextCheck } from './text-check.js';
import { type Leave, WaitQueue } from './wait-queue.js';

const ANY: AcquireOptions = {};

/** Every pool of this package, over whichever driver: who waits, for how long and in which order, and how it closes. */
export class Pool implements DatabasePool {
  readonly afterBegin: AfterBegin | undefined;
  readonly #driver: Driver;
  readonly #settings: PoolSettings;
  readonly #queue: WaitQueue;
  /** For connections that only read, where the driver has such. */
  readonly #readers: WaitQueue | undefined;
  readonly #texts: TextCheck;
  readonly #inUse = new LinkedList<PooledConnection>();
  #closing: Promise<void> | undefined = undefined;

  constructor(driver: Driver, settings: PoolSettings) {
    const { language, max, maxReaders, name } = driver;
    this.#driver = driver;
    this.#settings = settings;
    this.afterBegin = settings.afterBegin;
    this.#texts = new TextCheck(language);
    this.#queue = new WaitQueue(max, { ...settings, ...(name === undefined ? {} : { name }) });
    this.#readers = maxReaders === undefined ? undefined : new WaitQueue(maxReaders, settings);
  }

  get size(): PoolSize {
    const taken = this.#queue.taken + (this.#readers?.taken ?? 0);
    const { open, idle = open - taken } = this.#driver.size ?? { open: taken };
    return { open, idle, waiting: this.#queue.waiting + (this.#readers?.waiting ?? 0) };
  }

  async getConnection(options: AcquireOptions = ANY): Promise<PooledConnection> {
    const { clock, acquireTimeoutMs } = this.#settings;
    const { timeoutMs = acquireTimeoutMs, readOnly = false } = options;
    const queue = readOnly ? (this.#readers ?? this.#queue) : this.#queue;
    const place = queue.enter(options, timeoutMs);
    // A caller that does not wait asks for no time.
    const deadline = place instanceof Promise ? clock.now() + timeoutMs : undefined;
    const leave = place instanceof Promise ? await place : place;
    const connecting = this.#connect(options, leave);
    const wire =
      connecting instanceof Promise
        ? await this.#inTime(connecting, { options, deadline: deadline ?? clock.now() + timeoutMs, leave })
        : connecting;
    const onRelease = (possiblyBroken: boolean): void => {
      this.#inUse.remove(connection);
      release(wire, possiblyBroken, leave);
    };
    const connection: PooledConnection = new PooledConnection(wire, this.#texts, readOnly, onRelease);
    this.#inUse.add(connection);
    return connection;
  }

  /**
   * Runs one statement outside of every transaction, once a connection is free.
   *
   * @param sql - one statement with `$1 ... $n`
   * @param params - the values of `$1 ... $n`
   * @returns the rows that the statement gave, as objects
   * @throws what `getConnection()`, and `query()` of its connection, throw
   */
  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#alone(sql, params) as Promise<R[]>;
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult<R>> {
    return this.#alone(sql, params, options) as Promise<ExecuteResult<R>>;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One statement outside of every transaction. Without options only its rows are wanted. */
  async #alone(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Promise<unknown> {
    if (this.#driver.alone && !this.#closing) {
      const running = this.#withoutConnection(sql, params, options);
      const result = running instanceof Promise ? await running : running;
      if (result) return options ? result : result.rows;
    }
    const connection = await this.getConnection();
    try {
      return await (options ? connection.execute(sql, params, options) : connection.query(sql, params));
    } finally {
      connection.release();
    }
  }

  #withoutConnection(
    sql: string,
    params: readonly unknown[] | undefined,
    options: ExecuteOptions | undefined,
  ): ReturnType<Required<Driver>['alone']> {
    const run = (): ReturnType<Required<Driver>['alone']> =>
      this.#driver.alone?.({ sql, params, options }, this.#queue.taken === 0);
    return statementOutside.hasSubscribers ? publishedOutside(sql, async () => run()) : run();
  }

  /** The queue admits no more callers than there may be connections; the driver may have other users. */
  #connect(options: AcquireOptions, leave: Leave): Wire | Promise<Wire> {
    try {
      return this.#driver.connect(options);
    } catch (error) {
      leave();
      throw this.#refusal(error);
    }
  }

  async #inTime(
    connecting: Promise<Wire>,
    { options, deadline, leave }: { options: AcquireOptions; deadline: number; leave: Leave },
  ): Promise<Wire> {
    const { clock } = this.#settings;
    const late = (): Error =>
      this.#driver.noConnection?.() ??
      new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', 'The driver gave no connection in time');
    try {
      return await within(clock, Math.max(0, deadline - clock.now()), unlessCancelled(connecting, options), late);
    } catch (error) {
      // It may still arrive; the place stays taken until it has.
      connecting.then((wire) => release(wire, false, leave), leave);
      throw this.#refusal(error);
    }
  }

  #refusal(cause: unknown): TransactionError {
    if (isTransactionError(cause)) return cause;
    return (
      this.#driver.noConnection?.({ cause }) ??
      new TransactionError('AMBIT_TX_ACQUIRE_FAILED', 'The driver gave no connection', { cause })
    );
  }

  async #close(): Promise<void> {
    const { closeTimeoutMs, keepOpen = false } = this.#settings;
    this.#queue.close();
    this.#readers?.close();
    if (!(await this.#isEmptyWithin(closeTimeoutMs))) {
      for (let used = this.#inUse.first; used; used = this.#inUse.first) used.takeAway();
      await this.#isEmptyWithin(closeTimeoutMs);
    }
    if (!keepOpen) await this.#driver.close(closeTimeoutMs);
  }

  async #isEmptyWithin(ms: number): Promise<boolean> {
    const overdue = (): Error => new Error('overdue');
    const empty = Promise.all([this.#queue.empty(), this.#readers?.empty()]);
    return within(this.#settings.clock, ms, empty, overdue).then(
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
