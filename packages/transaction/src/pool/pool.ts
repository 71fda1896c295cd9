import { cancelledBy, onCancelled, unlessCancelled } from './checkout.js';
import { type Clock, startTimer, within } from '../core/clock.js';
import type {
  AcquireOptions,
  AfterBegin,
  DatabasePool,
  ExecuteOptions,
  ExecuteResult,
  PoolSize,
  Row,
} from '../core/contract.js';
import { aborted, TransactionError, isTransactionError } from '../core/errors.js';
import { type Linked, LinkedList } from '../core/linked-list.js';
import { publishedOutside, statementOutside } from '../core/events.js';
import { PooledConnection, TextCheck } from './connection.js';
import type { Driver, Wire } from './driver.js';
import type { PoolSettings } from './options.js';

/** Leaves the place; only the first call counts. */
export type Leave = () => void;

interface Ticket extends Linked<Ticket> {
  readonly admit: () => void;
  readonly refuse: (error: Error) => void;
}

export interface WaitQueueOptions {
  readonly clock: Clock;
  /** How many may wait at the same time. */
  readonly maxWaiting: number;
  /** What the callers wait for, in the message of the time-out. */
  readonly name?: string;
}

/** The queue for the connections of a pool: a fixed number of places, first come first served. */
export class WaitQueue {
  readonly #places: number;
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #name: string;
  readonly #waiting = new LinkedList<Ticket>();
  #taken = 0;
  #closed = false;
  #whenEmpty: (() => void)[] = [];

  constructor(places: number, { clock, maxWaiting, name = nameOf(places) }: WaitQueueOptions) {
    this.#places = places;
    this.#clock = clock;
    this.#maxWaiting = maxWaiting;
    this.#name = name;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a place, at once where there is one. */
  enter(options: AcquireOptions | undefined, timeoutMs: number): Leave | Promise<Leave> {
    if (this.#closed) throw closed();
    const why = options && cancelledBy(options);
    if (why) throw aborted(why);
    if (this.#taken >= this.#places) return this.#wait(options, timeoutMs);
    this.#taken += 1;
    return this.#place();
  }

  /** Refuses all waiting and all new callers. */
  close(): void {
    this.#closed = true;
    for (let next = this.#waiting.first; next; next = this.#waiting.first) next.refuse(closed());
  }

  /** Resolves when nobody holds a place. */
  async empty(): Promise<void> {
    if (this.#taken > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  #place(): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#passOn();
    };
  }

  #wait(options: AcquireOptions = {}, timeoutMs: number): Promise<Leave> {
    if (this.#waiting.size >= this.#maxWaiting) throw full(this.#maxWaiting);
    return new Promise<Leave>((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.remove(ticket);
        stopTimer();
        stopListening();
      };
      const refuse = (error: Error): void => {
        stop();
        reject(error);
      };
      const admit = (): void => {
        stop();
        resolve(this.#place());
      };
      const ticket: Ticket = { admit, refuse, earlier: undefined, later: undefined };
      const stopTimer = startTimer(this.#clock, () => refuse(timedOut(timeoutMs, this.#name)), timeoutMs);
      const stopListening = onCancelled(options, (why) => refuse(aborted(why)));
      this.#waiting.add(ticket);
    });
  }

  #passOn(): void {
    const next = this.#waiting.first;
    if (next) return next.admit();
    this.#taken -= 1;
    if (this.#taken === 0 && this.#whenEmpty.length > 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }
}

function closed(): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool is closed');
}

function full(maxWaiting: number): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_FULL', `${maxWaiting} callers already wait for a connection`);
}

function nameOf(places: number): string {
  return places === 1 ? 'the one connection' : `any of the ${places} connections`;
}

function timedOut(timeoutMs: number, name: string): TransactionError {
  return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', `Waited ${Math.round(timeoutMs)} ms for ${name}`);
}

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
