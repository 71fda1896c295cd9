import { within } from '../clock.js';
import type {
  AcquireOptions,
  AfterBegin,
  BeginOptions,
  DatabaseConnection,
  DatabasePool,
  ExecuteOptions,
  ExecuteResult,
  IPooledConnection,
  PoolSize,
  Row,
} from '../contract.js';
import { isTransactionError, released, TransactionError, warnOfLeftOpen, withCallersStack } from '../errors.js';
import {
  announceStatement,
  connectionAcquired,
  connectionReleased,
  publishedAcquiring,
  publishedOutside,
  statementOutside,
  statementSent,
} from '../events.js';
import { checkTime } from '../options.js';
import { type Linked, LinkedList } from '../linked-list.js';
import { refuseTransactionControl } from '../sql/control-statements.js';
import type { AloneStatement, Driver, Wire } from './driver.js';
import type { PoolSettings } from './options.js';
import { PoolSession, TextCheck } from './session.js';
import { type Leave, unlessCancelled, WaitQueue } from './waiting.js';

type Result = ExecuteResult<never>;

const whole = (result: Result): Result => result;
const rowsOf = ({ rows }: Result): never[] => rows;

const REPLACEABLE = ['beginTransaction', 'commit', 'rollback', 'query', 'execute', 'cancel', 'release'] as const;

/** The connection of every pool: one statement at a time, each in the turn of its session. */
export class PooledConnection implements DatabaseConnection, Linked<PooledConnection> {
  /** Its neighbours in the list of connections that are checked out. */
  earlier: PooledConnection | undefined = undefined;
  later: PooledConnection | undefined = undefined;
  readonly synchronous: boolean;
  readonly #session: PoolSession;

  constructor(session: PoolSession) {
    this.#session = session;
    this.synchronous = session.synchronous;
  }

  /**
   * The session that a transaction takes over, to enter the queue by itself. Undefined for every other connection: a proxy, or one whose methods
   * somebody has replaced, has to see each call.
   */
  static sessionOf(connection: IPooledConnection): PoolSession | undefined {
    if (!(#session in connection)) return undefined;
    for (const name of REPLACEABLE) if (connection[name] !== PooledConnection.prototype[name]) return undefined;
    return connection.#session;
  }

  get isolationSql(): string | undefined {
    return this.#session.isolationSql;
  }

  beginTransaction(options: BeginOptions = {}): Promise<void> {
    return this.#inTurn(() => this.#session.begin(options));
  }

  async commit(): Promise<void> {
    // Nothing is sent. The SQLSTATE says so; without one the outcome would count as unknown.
    if (this.#session.isReleased) throw released({ sqlState: '08003' });
    return this.#inTurn(() => this.#session.commit());
  }

  rollback(): Promise<void> {
    return this.#inTurn(() => this.#session.rollback());
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#ask(rowsOf, sql, params);
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult<R>> {
    return this.#ask(whole, sql, params, options);
  }

  /** The one statement of a caller of the pool. Without options only its rows are wanted. */
  alone(announced: object | undefined, { sql, params, options }: AloneStatement): Promise<unknown> {
    return this.#ask<unknown>(options ? whole : rowsOf, sql, params, options, announced);
  }

  cancel(): void {
    this.#session.cancel();
  }

  release(destroy?: boolean | Error): void {
    this.#session.release(destroy);
  }

  /** For a pool that is closed. */
  takeAway(): void {
    this.#session.takeAway();
  }

  #ask<T>(
    read: (result: Result) => T,
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
    announced?: object,
  ): Promise<T> {
    if (!statementOutside.hasSubscribers || this.#session.inTransaction) return this.#send(read, sql, params, options);
    return publishedOutside(sql, () => this.#send(read, sql, params, options), announced) as Promise<T>;
  }

  async #send<T>(
    read: (result: Result) => T,
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<T> {
    const session = this.#session;
    const turn = session.queue.enter();
    if (turn) await turn;
    try {
      session.refuse(sql);
      const sent = session.send(sql, params, options);
      return read(sent instanceof Promise ? await sent : sent);
    } catch (error) {
      throw withCallersStack(session.failureOf(error));
    } finally {
      session.queue.leave();
    }
  }

  async #inTurn(step: () => Promise<void>): Promise<void> {
    const { queue } = this.#session;
    const turn = queue.enter();
    if (turn) await turn;
    try {
      await step();
    } finally {
      queue.leave();
    }
  }
}

const ANY: AcquireOptions = {};

type Front = (driver: Driver) => Driver;

const fronts = new Set<Front>();
let front: Front | undefined = undefined;

/**
 * Puts something in front of the drivers of all pools of this process, such as what records their statements.
 *
 * @param instead - called with a driver when a pool is made and whenever the pool uses it; gives what is used in its place
 * @returns a function that takes it away again, in whichever order several end
 *
 * @example
 * ```ts
 * import { inFrontOfDrivers } from '@ambit/transaction/extension';
 *
 * const putBack = inFrontOfDrivers((driver) => ({
 *   ...driver,
 *   connect: () => {
 *     throw new Error('No test of this file may use a database');
 *   },
 *   close: (ms) => driver.close(ms),
 * }));
 * ```
 */
export function inFrontOfDrivers(instead: (driver: Driver) => Driver): () => void {
  fronts.add(instead);
  front = together();
  return () => {
    fronts.delete(instead);
    front = together();
  };
}

function together(): Front | undefined {
  const all = [...fronts];
  return all.length > 1 ? (driver) => all.reduce((inner, one) => one(inner), driver) : all[0];
}

/** Every pool of this package, over whichever driver: who waits, for how long and in which order, and how it closes. */
export class Pool implements DatabasePool {
  readonly afterBegin: AfterBegin | undefined;
  readonly #own: Driver;
  readonly #turn = new Turn();
  readonly #settings: PoolSettings;
  readonly #queue: WaitQueue;
  /** For connections that only read, where the driver has such. */
  readonly #readers: WaitQueue | undefined;
  readonly #texts: TextCheck;
  readonly #inUse = new LinkedList<PooledConnection>();
  #closing: Promise<void> | undefined = undefined;

  constructor(driver: Driver, settings: PoolSettings) {
    const { language, max, maxReaders, name } = driver;
    this.#own = driver;
    front?.(driver);
    this.#settings = settings;
    this.afterBegin = settings.afterBegin;
    this.#texts = new TextCheck(language);
    this.#queue = new WaitQueue(max, { ...settings, ...(name === undefined ? {} : { name }) });
    this.#readers = maxReaders === undefined ? undefined : new WaitQueue(maxReaders, settings);
  }

  get #driver(): Driver {
    return front ? front(this.#own) : this.#own;
  }

  get size(): PoolSize {
    const taken = this.#queue.taken + (this.#readers?.taken ?? 0);
    const { open, idle = open - taken } = this.#driver.size ?? { open: taken };
    const { max, maxReaders = 0 } = this.#driver;
    return { open, idle, waiting: this.#queue.waiting + (this.#readers?.waiting ?? 0), max: max + maxReaders };
  }

  getConnection(options: AcquireOptions = ANY): Promise<PooledConnection> {
    const acquiring = this.#acquire(options);
    return connectionAcquired.hasSubscribers ? publishedAcquiring(this, acquiring, options) : acquiring;
  }

  async #acquire(options: AcquireOptions): Promise<PooledConnection> {
    const { clock, acquireTimeoutMs } = this.#settings;
    if (options.timeoutMs !== undefined) checkTime('timeoutMs', options.timeoutMs);
    const { timeoutMs = acquireTimeoutMs, readOnly = false } = options;
    const queue = readOnly ? (this.#readers ?? this.#queue) : this.#queue;
    const place = queue.enter(options, timeoutMs);
    // A caller that does not wait asks for no time.
    const deadline = place instanceof Promise ? clock.now() + timeoutMs : undefined;
    const leave = place instanceof Promise ? await place : place;
    const connect = (): Wire | Promise<Wire> => {
      const connecting = this.#connect(options, leave);
      if (!(connecting instanceof Promise)) return connecting;
      return this.#inTime(connecting, { options, deadline: deadline ?? clock.now() + timeoutMs, leave });
    };
    const connected = connect();
    let wire = connected instanceof Promise ? await connected : connected;
    while (wire.isLeftOpen) {
      warnOfLeftOpen();
      await closeAtDriver(wire);
      wire = await connect();
    }
    if (wire.synchronous && this.#turn.isLong) await new Promise(setImmediate);
    const onRelease = (possiblyBroken: boolean): void => {
      returnToDriver(wire, possiblyBroken, leave);
      this.#inUse.remove(connection);
      if (connectionReleased.hasSubscribers) connectionReleased.publish({ connection });
    };
    const session = new PoolSession(wire, this.#texts, readOnly, onRelease);
    const connection = new PooledConnection(session);
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
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One statement outside of every transaction. Without options only its rows are wanted. */
  async #alone(sql: string, params: readonly unknown[] = [], options?: ExecuteOptions): Promise<unknown> {
    // Once it has waited for a connection, the stack has lost a caller that only passes the promise on.
    const announced = statementSent.hasSubscribers ? announceStatement(sql) : undefined;
    let connection: PooledConnection | undefined;
    try {
      if (this.#driver.alone && !this.#closing) {
        const run = (): ReturnType<Required<Driver>['alone']> => {
          if (!this.#texts.isHarmless(sql) && this.#leavesSessionState(sql, options)) return undefined;
          const values = this.#texts.valuesOf(params);
          return this.#driver.alone?.({ sql, params: values, options }, this.#queue.taken === 0);
        };
        const running = statementOutside.hasSubscribers ? publishedOutside(sql, run, announced) : run();
        const result = running instanceof Promise ? await running : running;
        if (result) return options ? result : result.rows;
      }
      connection = await this.getConnection();
      return await connection.alone(announced, { sql, params, options });
    } catch (error) {
      throw withCallersStack(error);
    } finally {
      connection?.release();
    }
  }

  /** Such a statement needs a connection, which is closed afterwards. */
  #leavesSessionState(sql: string, options: ExecuteOptions | undefined): boolean {
    refuseTransactionControl(sql);
    const isKept = options?.prepare !== false;
    return this.#texts.leavesSessionState(sql, { inTransaction: false, readOnly: false, isKept });
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
      connecting.then((wire) => returnToDriver(wire, false, leave), leave);
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

  async #drain(): Promise<void> {
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

/** The time that a database whose work is synchronous may keep the event loop busy before everything else has a turn. */
const LONG_TURN_MS = 10;

/** A turn of the event loop, since the pool was first asked in it: a chunk of the network can hold hundreds of requests. */
class Turn {
  #since: number | undefined = undefined;

  get isLong(): boolean {
    if (this.#since !== undefined) return performance.now() - this.#since > LONG_TURN_MS;
    this.#since = performance.now();
    setImmediate(() => (this.#since = undefined));
    return false;
  }
}

/** If it fails, the driver has lost the connection. */
async function closeAtDriver(wire: Wire): Promise<void> {
  try {
    await wire.release(true);
  } catch {}
}

/** The place is free as soon as the driver has the connection back, or could not take it. */
function returnToDriver(wire: Wire, possiblyBroken: boolean, leave: Leave): void {
  let releasing: void | Promise<void>;
  try {
    releasing = wire.release(possiblyBroken);
  } catch {
    return leave();
  }
  if (releasing) releasing.then(leave, leave);
  else leave();
}
