import { TURN } from '../clock.js';
import type { BeginOptions, ExecuteOptions, ExecuteResult } from '../contract.js';
import {
  alreadyOpen,
  isTransactionError,
  lostBefore,
  lostBeforeCommit,
  meaningOf,
  nothingToCommit,
  notInTransaction,
  poolClosed,
  released,
  rolledBack,
  savepointAlone,
  TransactionError,
  withCallersStack,
} from '../errors.js';
import { checkExecuteOptions, checkIsolation } from '../options.js';
import { isPlain, isSavepoint, refuseTransactionControl } from '../sql/control-statements.js';
import { convertAll } from '../sql/values.js';
import type { Language, Wire } from './driver.js';

type Result = ExecuteResult<never>;

/**
 * One statement at a time, in the order asked. A driver may queue by itself, but only a queue of our own can be
 * emptied when the transaction completes, so that none of its statements runs for the next user of the connection.
 *
 * Every `enter()` needs a `leave()`. A single function that runs a callback would create one more promise for every
 * statement, and would hide the caller's function from the stack of an error.
 */
export class StatementQueue {
  #waiting: (() => void)[] | undefined = undefined;
  #busy = false;
  #whenIdle: (() => void)[] | undefined = undefined;
  #abandon: ((error: Error) => void) | undefined = undefined;
  #isAbandoned = false;
  /** Set once new statements are refused. */
  #refuseNew: (() => Error) | undefined = undefined;
  /** Set once the statements that wait for their turn are refused too. */
  #refuseAll: (() => Error) | undefined = undefined;

  get busy(): boolean {
    return this.#busy;
  }

  /** A statement may still run that nobody waits for any more. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Takes the turn, and returns a promise only where there is something to wait for. Throws or rejects where statements are refused. */
  enter(): Promise<void> | undefined {
    if (this.#refuseNew) throw this.#refuseNew();
    if (this.#busy) return this.#turn();
    this.#busy = true;
    return undefined;
  }

  leave(): void {
    this.#abandon = undefined;
    const next = this.#waiting?.shift();
    if (next) return next();
    this.#busy = false;
    if (this.#whenIdle) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Passes on the result of the statement in progress, or the error of `abandon()` if that comes first. */
  unlessAbandoned<T>(result: PromiseLike<T>, resolve: (value: T) => void, reject: (error: unknown) => void): void {
    this.#abandon = reject;
    result.then(resolve, reject);
  }

  /** Refuses new statements; those that wait still run. Resolves when they have. */
  close(refusal: () => Error): Promise<void> {
    this.#refuseNew ??= refusal;
    return this.idle();
  }

  /** Refuses every statement that has not started. Resolves when the one in progress has settled. */
  clear(refusal: () => Error): Promise<void> {
    this.#refuseAll ??= refusal;
    return this.close(refusal);
  }

  /** Stops waiting for the statement in progress: its caller receives `error` and leaves, although the statement may still run. */
  abandon(error: Error): void {
    this.#isAbandoned = true;
    this.#abandon?.(error);
  }

  /** Resolves when no statement runs or waits, and never at once. */
  idle(): Promise<void> {
    return this.#busy ? new Promise((resolve) => void (this.#whenIdle ??= []).push(resolve)) : TURN;
  }

  async #turn(): Promise<void> {
    await new Promise<void>((resolve) => (this.#waiting ??= []).push(resolve));
    if (!this.#refuseAll) return;
    this.leave();
    throw this.#refuseAll();
  }
}

/**
 * One connection for one user, without the order of its statements: its caller takes the turn in `queue`, then sends. The caller is a
 * `PooledConnection`, or a transaction, which takes the queue over. So each statement waits once and is checked once.
 */
export interface Session {
  readonly queue: StatementQueue;
  /** As of the connection. */
  readonly synchronous: boolean;
  /** As of the connection. */
  readonly isolationSql: string | undefined;
  /** It takes a connection with its first statement. */
  readonly isDeferred?: boolean;
  begin(options: BeginOptions): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /** Throws what must not be sent, whatever was sent before: a transaction does not count it as a failed statement. */
  refuse(sql: string, options: ExecuteOptions | undefined): void;
  /** The caller passes what it throws or rejects with to `failureOf()`. */
  send(sql: string, params: readonly unknown[] | undefined, options: ExecuteOptions | undefined): unknown;
  /** The rows in a result of `send()` without options. */
  rowsOf(sent: unknown): unknown;
  /** Translates the failure of a statement: an error with a code, where the pool is one of this package. */
  failureOf(error: unknown): unknown;
  cancel(): unknown;
  release(destroy?: boolean | Error): unknown;
}

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

  /** Throws where the database would commit by itself, or the like. Returns whether the statement leaves something in its session. */
  leavesSessionState(sql: string, where: Where): boolean {
    if (!where.inTransaction && isSavepoint(sql)) throw savepointAlone();
    this.language.check?.(sql, where);
    if (this.language.leavesSessionState(sql)) return true;
    if (where.isKept && isPlain(sql) && this.#harmless.size < MOST_TEXTS) this.#harmless.add(sql);
    return false;
  }

  /** The values as the drivers of the database take them: the same array where none has to be changed. */
  valuesOf(params: readonly unknown[]): readonly unknown[] {
    const { value } = this.language;
    return value ? convertAll(params, value) : params;
  }
}

const NO_PARAMS: readonly unknown[] = [];

/** The session of every pool of this package: none of its statements runs after the release, and its errors have codes. */
export class PoolSession implements Session {
  /** A driver may queue by itself, but a release can refuse only the statements that still wait here. */
  readonly queue = new StatementQueue();
  readonly synchronous: boolean;
  readonly #wire: Wire;
  readonly #texts: TextCheck;
  readonly #onRelease: (possiblyBroken: boolean) => void;
  /** The caller asked for a connection to read with. */
  readonly #isForReading: boolean;
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
  /** A connection that is possibly broken is closed at its release. */
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

  get inTransaction(): boolean {
    return this.#inTransaction;
  }

  get isReleased(): boolean {
    return this.#released;
  }

  async begin(options: BeginOptions): Promise<void> {
    if (options.isolation !== undefined) checkIsolation(options.isolation);
    if (this.#inTransaction && !this.#wire.outsideTransaction && !this.#isLost && !this.#takenAway) throw alreadyOpen();
    this.#inTransaction = true;
    this.#undoneBy = undefined;
    try {
      for (const sql of this.#texts.language.begin(options)) {
        const sent = this.#control(sql);
        if (sent instanceof Promise) await sent;
      }
    } catch (error) {
      this.#inTransaction = false;
      // An earlier part of BEGIN may have changed the session.
      this.#possiblyBroken = true;
      throw error;
    }
    this.#readOnly = options.readOnly ?? this.#isForReading;
  }

  async commit(): Promise<void> {
    if (this.#takenAway) throw poolClosed();
    if (this.#isLost) throw lostBeforeCommit(this.#lostBecause);
    if (!this.#inTransaction || this.#wire.outsideTransaction) throw nothingToCommit(this.#undoneBy);
    try {
      const sent = this.#control('COMMIT');
      const { command } = sent instanceof Promise ? await sent : sent;
      this.#inTransaction = false;
      if (command !== 'COMMIT') throw rolledBack();
    } catch (error) {
      // A driver may report the error before the server is ready for the next statement; the response to this one says it is.
      if (this.#inTransaction && !this.#possiblyBroken)
        await this.rollback().catch(() => (this.#possiblyBroken = true));
      throw error;
    }
  }

  /** The database has rolled back by itself if a statement was rejected because the connection is lost, or the pool took it away. */
  async rollback(): Promise<void> {
    if (this.#lost === undefined && !this.#takenAway) await this.#control('ROLLBACK');
    this.#inTransaction = false;
  }

  refuse(sql: string): void {
    if (!this.#texts.isHarmless(sql)) refuseTransactionControl(sql);
  }

  send(sql: string, params: readonly unknown[] = NO_PARAMS, options?: ExecuteOptions): Result | Promise<Result> {
    if (options) checkExecuteOptions(options);
    if (this.#takenAway) throw poolClosed();
    if (this.#isLost) throw lostBefore(this.#lostBecause);
    // It would be stored at once, and a rollback would not undo it.
    if (this.#inTransaction && this.#wire.outsideTransaction) throw notInTransaction(this.#undoneBy);
    if (!this.#texts.isHarmless(sql)) this.#check(sql, options);
    return this.#wire.send(sql, this.#texts.valuesOf(params), options);
  }

  rowsOf(sent: Result): unknown {
    return sent.rows;
  }

  failureOf(error: unknown): TransactionError {
    const failure = this.#coded(error);
    if (this.#inTransaction && this.#wire.outsideTransaction) this.#undoneBy ??= failure;
    return failure;
  }

  cancel(): void {
    if (this.#released || this.#takenAway) return;
    this.#possiblyBroken = true;
    this.#wire.cancel?.();
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) throw new TransactionError('AMBIT_TX_FINISHED', 'release() was called twice');
    this.#released = true;
    void this.queue.clear(released);
    if (!this.#takenAway) this.#returnToPool(destroy !== false);
  }

  /** For a pool that is closed: from now on only a rollback and the release are accepted, and do nothing. */
  takeAway(): void {
    this.#takenAway = true;
    this.#returnToPool(true);
  }

  #returnToPool(destroy: boolean): void {
    this.#onRelease(destroy || this.#possiblyBroken || this.queue.busy || this.#inTransaction);
  }

  #control(sql: string): Result | Promise<Result> {
    try {
      // The statement before may settle only after its transaction has stopped waiting for it.
      if (this.#released) throw released();
      if (this.#takenAway) throw poolClosed();
      if (this.#isLost) throw lostBefore(this.#lostBecause);
      const sent = this.#wire.send(sql);
      return sent instanceof Promise ? this.#received(sent) : sent;
    } catch (error) {
      throw withCallersStack(this.#coded(error));
    }
  }

  async #received(sent: Promise<Result>): Promise<Result> {
    try {
      return await sent;
    } catch (error) {
      throw withCallersStack(this.#coded(error));
    }
  }

  get #isLost(): boolean {
    return this.#lost !== undefined || this.#wire.isLost;
  }

  get #lostBecause(): unknown {
    return this.#lost ? this.#lost.cause : this.#wire.lostBecause;
  }

  #check(sql: string, options: ExecuteOptions | undefined): void {
    const isKept = options?.prepare !== false;
    const where = { inTransaction: this.#inTransaction, readOnly: this.#readOnly, isKept };
    if (this.#texts.leavesSessionState(sql, where)) this.#possiblyBroken = true;
  }

  #coded(error: unknown): TransactionError {
    const where = { isLost: this.#isLost, readOnly: this.#readOnly };
    const isOurs = isTransactionError(error);
    const failure = isOurs ? error : this.#texts.language.translate(error, where);
    if (failure.code === 'AMBIT_TX_CONNECTION_LOST') this.#lost ??= failure;
    // Without an SQLSTATE it is the driver's: nobody knows what it has sent.
    const isOfTheDriver = !isOurs && failure.sqlState === undefined;
    if (where.isLost || this.#lost || isOfTheDriver || meaningOf(failure).last) this.#possiblyBroken = true;
    return failure;
  }
}
