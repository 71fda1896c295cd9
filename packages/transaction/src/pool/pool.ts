import { within } from '../core/clock.js';
import type {
  AcquireOptions,
  AfterBegin,
  BeginOptions,
  DatabaseConnection,
  DatabasePool,
  ExecuteOptions,
  ExecuteResult,
  PoolSize,
  Row,
} from '../core/contract.js';
import {
  alreadyOpen,
  isTransactionError,
  lostBefore,
  lostBeforeCommit,
  nothingToCommit,
  notInTransaction,
  poolClosed,
  released,
  rolledBack,
  savepointAlone,
  TransactionError,
  type TransactionErrorCode,
  warnOfLeftOpen,
  withCallersStack,
} from '../core/errors.js';
import {
  announceStatement,
  connectionAcquired,
  publishedAcquiring,
  publishedOutside,
  statementOutside,
  statementSent,
} from '../core/events.js';
import { checkExecuteOptions, checkIsolation, checkTime } from '../core/options.js';
import { type Linked, LinkedList, StatementQueue } from '../core/queues.js';
import { isPlain, isSavepoint, refuseTransactionControl } from '../sql/control-statements.js';
import type { AloneStatement, Driver, Language, Wire } from './driver.js';
import type { PoolSettings } from './options.js';
import { type Leave, unlessCancelled, WaitQueue } from './waiting.js';

const MOST_TEXTS = 500;

interface Where {
  readonly inTransaction: boolean;
  readonly readOnly: boolean;
  /** The text is likely to be sent again. */
  readonly isKept: boolean;
}

/** Checks the text of each statement. A text in which nothing was found is not checked again, on any connection of the pool. */
export class TextCheck {
  readonly language: Language;
  readonly #harmless = new Set<string>();

  constructor(language: Language) {
    this.language = language;
  }

  isHarmless(sql: string): boolean {
    return this.#harmless.has(sql);
  }

  /** Throws what must not be sent. Returns whether the statement leaves something in its session. */
  leavesSessionState(sql: string, where: Where): boolean {
    refuseTransactionControl(sql);
    if (!where.inTransaction && isSavepoint(sql)) throw savepointAlone();
    this.language.check?.(sql, where);
    if (this.language.leavesSessionState(sql)) return true;
    if (where.isKept && isPlain(sql) && this.#harmless.size < MOST_TEXTS) this.#harmless.add(sql);
    return false;
  }
}

/** The values as the drivers of the database take them: the same array where none has to be changed. */
function valuesOf(params: readonly unknown[], { value: convert }: Language): readonly unknown[] {
  if (!convert) return params;
  let values: unknown[] | undefined;
  for (let index = 0; index < params.length; index += 1) {
    const value = convert(params[index], index + 1);
    if (value !== params[index]) (values ??= [...params])[index] = value;
  }
  return values ?? params;
}

type Result = ExecuteResult<never>;

/** After these the connection is not used again: its server takes no writes, or a COMMIT may still be in progress. */
const LAST: ReadonlySet<TransactionErrorCode> = new Set(['AMBIT_TX_READ_ONLY', 'AMBIT_TX_OUTCOME_UNKNOWN'] as const);

const whole = (result: Result): Result => result;
const rowsOf = ({ rows }: Result): never[] => rows;

/** The connection of every pool: one statement at a time, none after the release, coded errors. */
export class PooledConnection implements DatabaseConnection, Linked<PooledConnection> {
  /** Its neighbours in the list of connections that are checked out. */
  earlier: PooledConnection | undefined = undefined;
  later: PooledConnection | undefined = undefined;
  readonly synchronous: boolean;
  readonly #wire: Wire;
  readonly #texts: TextCheck;
  readonly #onRelease: (possiblyBroken: boolean) => void;
  /** The caller asked for a connection to read with. */
  readonly #isForReading: boolean;
  /** A driver may queue by itself, but a release can refuse only the statements that still wait here. */
  readonly #queue = new StatementQueue();
  /** A transaction was begun here, and neither committed nor rolled back here; the database may have done so. */
  #inTransaction = false;
  /** The error of the statement with which the database has rolled the transaction back. */
  #undoneBy: TransactionError | undefined = undefined;
  /** The error of a statement that was rejected because the connection was lost; the driver may notice it later. */
  #lost: TransactionError | undefined = undefined;
  #readOnly: boolean;
  #released = false;
  /** The pool was closed, and stopped waiting for the release. */
  #takenAway = false;
  /** It is then closed at its release. */
  #possiblyBroken = false;

  constructor(wire: Wire, texts: TextCheck, isForReading: boolean, onRelease: (possiblyBroken: boolean) => void) {
    this.#wire = wire;
    this.synchronous = wire.synchronous ?? false;
    this.#texts = texts;
    this.#isForReading = this.#readOnly = isForReading;
    this.#onRelease = onRelease;
  }

  get isolationSql(): string | undefined {
    return this.#texts.language.isolationSql;
  }

  async beginTransaction(options: BeginOptions = {}): Promise<void> {
    if (options.isolation !== undefined) checkIsolation(options.isolation);
    if (this.#isOpen && !this.#released && !this.#takenAway) throw alreadyOpen();
    this.#inTransaction = true;
    this.#undoneBy = undefined;
    try {
      for (const sql of this.#texts.language.begin(options)) await this.#send(whole, sql);
    } catch (error) {
      this.#inTransaction = false;
      // An earlier part of BEGIN may have changed the session.
      this.#possiblyBroken = true;
      throw error;
    }
    this.#readOnly = options.readOnly ?? this.#isForReading;
  }

  async commit(): Promise<void> {
    // Nothing is sent. The SQLSTATE says so; without one the outcome would count as unknown.
    if (this.#released) throw released({ sqlState: '08003' });
    if (this.#takenAway) throw poolClosed();
    if (this.#isLost) throw lostBeforeCommit(this.#lostBecause);
    if (!this.#isOpen) throw nothingToCommit(this.#undoneBy);
    try {
      const { command } = await this.#send(whole, 'COMMIT');
      this.#inTransaction = false;
      if (command !== 'COMMIT') throw rolledBack();
    } catch (error) {
      // A driver may report the error before the server is ready for the next statement; the response to this one says it is.
      if (this.#inTransaction && !this.#possiblyBroken)
        await this.rollback().catch(() => (this.#possiblyBroken = true));
      throw error;
    }
  }

  /** Where a statement was rejected because the connection is lost, or the pool took it away, the database has rolled back. */
  async rollback(): Promise<void> {
    const isRolledBack = this.#lost !== undefined || this.#takenAway;
    if (!isRolledBack || this.#released) await this.#send(whole, 'ROLLBACK');
    this.#inTransaction = false;
  }

  query<R extends object = Row>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    return this.#ask(rowsOf, sql, params);
  }

  async execute<R extends object = Row>(
    sql: string,
    params: readonly unknown[] = [],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult<R>> {
    checkExecuteOptions(options);
    return this.#ask(whole, sql, params, options);
  }

  /** The one statement of a caller of the pool. Without options only its rows are wanted. */
  alone(announced: object | undefined, { sql, params = [], options }: AloneStatement): Promise<unknown> {
    if (options) checkExecuteOptions(options);
    return this.#ask<unknown>(options ? whole : rowsOf, sql, params, options, announced);
  }

  cancel(): void {
    if (this.#released || this.#takenAway) return;
    this.#possiblyBroken = true;
    this.#wire.cancel?.();
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) throw new TransactionError('AMBIT_TX_FINISHED', 'release() was called twice');
    this.#released = true;
    this.#queue.clear(released);
    if (!this.#takenAway) this.#returnToPool(destroy !== false);
  }

  /** For a pool that is closed: from now on only a rollback and the release are accepted, and do nothing. */
  takeAway(): void {
    this.#takenAway = true;
    this.#queue.clear(poolClosed);
    this.#returnToPool(true);
  }

  #returnToPool(destroy: boolean): void {
    this.#onRelease(destroy || this.#possiblyBroken || this.#queue.busy || this.#inTransaction);
  }

  #ask<T>(
    read: (result: Result) => T,
    sql: string,
    params: readonly unknown[],
    options?: ExecuteOptions,
    announced?: object,
  ): Promise<T> {
    if (!statementOutside.hasSubscribers || this.#inTransaction) return this.#send(read, sql, params, options);
    return publishedOutside(sql, () => this.#send(read, sql, params, options), announced);
  }

  async #send<T>(
    read: (result: Result) => T,
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<T> {
    const turn = this.#queue.enter();
    if (turn) await turn;
    try {
      if (this.#isLost) throw lostBefore(this.#lostBecause);
      // It would be stored at once, and a rollback would not undo it.
      if (params && this.#inTransaction && this.#wire.outsideTransaction) throw notInTransaction(this.#undoneBy);
      if (params && !this.#texts.isHarmless(sql)) this.#check(sql, options);
      const values = params && valuesOf(params, this.#texts.language);
      const sent = this.#wire.send(sql, values, options);
      return read(sent instanceof Promise ? await sent : sent);
    } catch (error) {
      const failure = this.#failure(error);
      if (params && this.#inTransaction && this.#wire.outsideTransaction) this.#undoneBy ??= failure;
      throw withCallersStack(failure);
    } finally {
      this.#queue.leave();
    }
  }

  get #isOpen(): boolean {
    return this.#inTransaction && !this.#isLost && !this.#wire.outsideTransaction;
  }

  get #isLost(): boolean {
    return this.#lost !== undefined || this.#wire.isLost;
  }

  get #lostBecause(): unknown {
    return this.#lost ? this.#lost.cause : this.#wire.lostBecause;
  }

  #check(sql: string, options: ExecuteOptions | undefined): void {
    const where = {
      inTransaction: this.#inTransaction,
      readOnly: this.#readOnly,
      isKept: options?.prepare !== false,
    };
    if (this.#texts.leavesSessionState(sql, where)) this.#possiblyBroken = true;
  }

  #failure(error: unknown): TransactionError {
    const where = { isLost: this.#isLost, readOnly: this.#readOnly };
    const isOurs = isTransactionError(error);
    const failure = isOurs ? error : this.#texts.language.translate(error, where);
    if (failure.code === 'AMBIT_TX_CONNECTION_LOST') this.#lost ??= failure;
    // Without an SQLSTATE it is the driver's: nobody knows what it has sent.
    const isOfTheDriver = !isOurs && failure.sqlState === undefined;
    if (this.#isLost || isOfTheDriver || LAST.has(failure.code)) this.#possiblyBroken = true;
    return failure;
  }
}

const ANY: AcquireOptions = {};

/** Every pool of this package, over whichever driver: who waits, for how long and in which order, and how it closes. */
export class Pool implements DatabasePool {
  readonly afterBegin: AfterBegin | undefined;
  readonly #driver: Driver;
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
    const { max, maxReaders = 0 } = this.#driver;
    return { open, idle, waiting: this.#queue.waiting + (this.#readers?.waiting ?? 0), max: max + maxReaders };
  }

  getConnection(options: AcquireOptions = ANY): Promise<PooledConnection> {
    const acquiring = this.#acquire(options);
    return connectionAcquired.hasSubscribers ? publishedAcquiring(this, acquiring) : acquiring;
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
      this.#inUse.remove(connection);
      returnToDriver(wire, possiblyBroken, leave);
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
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One statement outside of every transaction. Without options only its rows are wanted. */
  async #alone(sql: string, params: readonly unknown[] = [], options?: ExecuteOptions): Promise<unknown> {
    // Once it has waited for a connection, the stack has lost a caller that only passes the promise on.
    const announced = statementSent.hasSubscribers ? announceStatement() : undefined;
    let connection: PooledConnection | undefined;
    try {
      if (this.#driver.alone && !this.#closing) {
        const run = (): ReturnType<Required<Driver>['alone']> => {
          if (!this.#texts.isHarmless(sql) && this.#leavesSessionState(sql, options)) return undefined;
          const values = valuesOf(params, this.#texts.language);
          return this.#driver.alone?.({ sql, params: values, options }, this.#queue.taken === 0);
        };
        const running = statementOutside.hasSubscribers ? publishedOutside(sql, async () => run(), announced) : run();
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

/** How long a database whose work is synchronous may keep the event loop busy before everything else has a turn. */
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
