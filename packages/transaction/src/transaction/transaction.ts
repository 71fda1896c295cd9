import type { IContainer } from '@ambit/container';
import { type Failure, settleWithin, startTimer, TURN } from '../clock.js';
import type { AfterBegin, ExecuteOptions, ExecuteResult, IConnection, Row } from '../contract.js';
import {
  aborted,
  asCoded,
  because,
  isTransactionError,
  meaningOf,
  report,
  TransactionError,
  withCallersStack,
} from '../errors.js';
import {
  announceStatement,
  publishFinished,
  rowsIn,
  since,
  statementSent,
  transactionBegun,
  transactionFinished,
  transactionFinishing,
  transactionStatement,
} from '../events.js';
import { checkFunction, checkOneOf, type TransactionOptions } from '../options.js';
import { saysNothingStored } from '../sql-state.js';
import type { Session, StatementQueue } from '../pool/session.js';
import { isRollbackTo } from '../sql/control-statements.js';
import { type AfterCommitOptions, type CallbackKind, Callbacks } from './callbacks.js';
import { type NestedRun, refuseOtherOptions, refuseOutsider, runInSavepoint, Savepoint } from './savepoint.js';
import { beforeDispose, disposeAfter } from './scope-disposal.js';
import type { TransactionSettings } from './settings.js';
import { addBegun, enterScope, removeBegun, TRANSACTION } from './transaction-of.js';

/** The outcome of a transaction. It is `unknown` where COMMIT was sent and the database did not say what it did. */
export type TransactionOutcome = 'committed' | 'rolled back' | 'unknown';
/** `acquired` until BEGIN has succeeded, then `open`, then the outcome. */
export type TransactionState = 'acquired' | 'open' | TransactionOutcome;

/** `preparing`: the `beforeCommit` callbacks run. `closing`: the statements before COMMIT run. After COMMIT was sent only the database decides. */
type Phase = 'working' | 'preparing' | 'closing' | 'committing' | 'rolling back' | TransactionOutcome;

/** How a use of the transaction is refused: `The transaction is being committed`. */
const REFUSALS: Readonly<Record<Phase, string>> = {
  working: 'is open',
  preparing: 'is open',
  closing: 'is being committed',
  committing: 'is being committed',
  'rolling back': 'was rolled back',
  committed: 'is committed',
  'rolled back': 'was rolled back',
  unknown: 'is unknown',
};

/**
 * A transaction and its scope. They complete together and exactly once, no matter who asks and how often.
 *
 * The order is always the same: statements in progress settle, COMMIT or ROLLBACK, the scope is disposed, the connection
 * is returned to the pool, or destroyed when it may be broken. One exception: when somebody else disposes the scope, its
 * instances are disposed before the ROLLBACK, because a container with `defer()` disposes the newest first.
 *
 * Callbacks can be registered on it. They run once, in the order in which they were registered: those of a nested run that
 * was undone as rolled back, whatever becomes of the transaction, and all others with the transaction. All but `beforeCommit`
 * run when the connection has been returned to the pool and the scope is disposed. Their failures go to `onError` of the
 * transaction, and each may take `endTimeoutMs` before the next one is called. The scope that the transaction began in waits for
 * them when it is disposed.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import type { IConnection } from '@ambit/transaction';
 * import { beginTransaction } from '@ambit/transaction/host';
 *
 * async function placeOrder(requestScope: IContainer): Promise<void> {
 *   await using transaction = await beginTransaction(requestScope); // without commit() it is rolled back
 *   const connection = transaction.scope.resolve<IConnection>('IConnection');
 *   await connection.query('INSERT INTO orders (id) VALUES ($1)', ['42']);
 *   await transaction.commit();
 * }
 * ```
 */
export class Transaction {
  /** The scope tagged `transaction`, with the open connection as `IConnection`, or as what the option `connection` says. */
  readonly scope: IContainer;
  /** The `IConnection` of the scope: it refuses statements once the transaction has completed. */
  readonly connection: IConnection;
  /** @internal The scope that it began in. */
  readonly parent: IContainer;
  /** @internal The checked options of the transaction. */
  readonly settings: TransactionSettings;
  /** @internal The nested runs in progress, outermost first. */
  readonly nestedRuns: NestedRun[] = [];
  /** @internal The transaction before it that began in the same scope, while both have not completed. */
  begunBefore: Transaction | undefined = undefined;
  /** @internal Runs that are started in the scope around it are refused while it is open. */
  readonly guardsParent: boolean;
  /** @internal Made for the first callback: a transaction without any pays nothing. */
  callbacks: Callbacks | undefined = undefined;
  /** The connection, with the queue of its statements, which the transaction has taken over. */
  readonly #session: Session;
  readonly #queue: StatementQueue;
  #phase: Phase = 'working';
  #isBeginSent = false;
  #hasBegun = false;
  /** The first failed statement since BEGIN or the last `ROLLBACK TO`; PostgreSQL remembers the same. */
  #failedStatement: PastFailure | undefined = undefined;
  /** A failure that no `ROLLBACK TO` undoes. */
  #rollbackOnly: PastFailure | undefined = undefined;
  #reason: unknown = undefined;
  /** The error of a `beforeCommit` callback. */
  #thrown: Failure | undefined = undefined;
  #error: TransactionError | undefined = undefined;
  /** Why the connection may be broken and must not be used again. */
  #broken: Error | undefined = undefined;
  /** Made where somebody reads `signal`: on Node 20 it costs more than the rest of a transaction. */
  #controller: AbortController | undefined = undefined;
  #onLost: ((error: TransactionError) => void) | undefined = undefined;
  readonly #outcomeKnown = new Milestone();
  readonly #completed = new Milestone();
  /** When COMMIT or ROLLBACK was sent, if anybody listens. */
  #sentAt = 0;
  #stopTimer: (() => void) | undefined = undefined;
  #stopListening: (() => void) | undefined = undefined;
  #forgetParent: (() => void) | undefined = undefined;
  /** True also when other code disposes the scope: the transaction would wait for itself if it waited for that. */
  #isScopeDisposed = false;
  #calling: Promise<void> | undefined = undefined;

  /** @internal Takes over the session of an acquired connection; call `beginTransaction()` instead. */
  constructor(
    parent: IContainer,
    scope: IContainer,
    session: Session,
    settings: TransactionSettings,
    guardsParent: boolean,
  ) {
    this.scope = scope;
    this.parent = parent;
    this.settings = settings;
    this.guardsParent = guardsParent;
    this.#session = session;
    this.#queue = session.queue;
    this.connection = new ScopedConnection(this);
  }

  /** How far it is: `acquired` until BEGIN has succeeded, then `open`, then its outcome. */
  get state(): TransactionState {
    const phase = this.#phase;
    if (phase === 'committed' || phase === 'rolled back' || phase === 'unknown') return phase;
    return this.#hasBegun ? 'open' : 'acquired';
  }

  /** Why it did not commit, once that is certain. */
  get error(): TransactionError | undefined {
    return this.#error;
  }

  /**
   * Aborts once a rollback was asked for, or the outcome is unknown, so that the work may stop early. A failed statement
   * alone does not abort it: a nested run or a `ROLLBACK TO` may undo that failure.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#error) this.#controller.abort(this.#error);
    }
    return this.#controller.signal;
  }

  /**
   * Calls one listener with the error when the signal aborts, or at once if it has, for much less than the signal costs.
   * A second listener replaces the first.
   *
   * @param listener - receives why the transaction cannot commit any more
   */
  onLost(listener: (error: TransactionError) => void): void {
    this.#onLost = listener;
    if (this.#error) listener(this.#error);
  }

  /** Notifies the work that its transaction cannot commit any more. */
  #notifyLost(): void {
    if (!this.#error) return;
    this.#controller?.abort(this.#error);
    this.#onLost?.(this.#error);
  }

  /** @internal Gives the level that the database has chosen, where the pool can say it. */
  get isolationSql(): string | undefined {
    return this.#session.isolationSql;
  }

  /** @internal It begins with its first statement, and none was sent. */
  get isDeferred(): boolean {
    return this.#session.isDeferred === true;
  }

  // BEGIN

  /** @internal Registers the connection, and sends BEGIN. When it rejects, all of that is undone. */
  async begin(afterBegin: AfterBegin | undefined): Promise<void> {
    const start = transactionBegun.hasSubscribers ? performance.now() : 0;
    try {
      this.#open();
      if (!this.#isRequested) {
        void this.#queue.enter();
        this.#isBeginSent = true;
        try {
          await this.#unlessAbandoned(this.#session.begin(this.settings.beginOptions));
          this.#hasBegun = this.#phase === 'working';
        } finally {
          this.#queue.leave();
        }
      }
      if (afterBegin && !this.#isRequested) await this.#prepare(afterBegin);
    } catch (error) {
      this.#decideRollback(asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'BEGIN failed'));
    }
    if (this.#isRequested) {
      await this.#completed.reached();
      throw this.#error ?? this.#refusal();
    }
    if (transactionBegun.hasSubscribers && !this.isDeferred)
      transactionBegun.publish({ scope: this.scope, milliseconds: since(start) });
  }

  /** Everything that may roll it back is connected before BEGIN is sent. */
  #open(): void {
    const { settings } = this;
    const { signal, clock, timeoutMs } = settings;
    enterScope(this, settings.database.connection);
    this.#watchScope();
    this.#stopTimer = startTimer(clock, () => this.#timeOut(), timeoutMs);
    if (signal) this.#stopListening = onAbort(signal, (error) => void this.rollback(error));
    addBegun(this);
  }

  /** Rolls back when somebody else disposes the scope, who then waits for that. */
  #watchScope(): void {
    const onDispose = (reason?: unknown): Promise<void> | undefined => {
      if (this.#isScopeDisposed) return undefined;
      this.#isScopeDisposed = true;
      return this.#rollBackWithScope(reason);
    };
    if (this.scope.defer) return void this.scope.defer(onDispose);
    beforeDispose(this.scope, onDispose);
    // A foreign scope may dispose its children before ROLLBACK, and past our hook.
    this.#forgetParent = beforeDispose(this.parent, (reason) => this.#rollBackWithScope(reason));
  }

  /** Runs `afterBegin` until a rollback: a function that waits for something else than the connection would not notice one. */
  async #prepare(afterBegin: AfterBegin): Promise<void> {
    try {
      await Promise.race([this.#completed.reached(), afterBegin(this.connection, this.scope)]);
    } catch (error) {
      throw asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'afterBegin() of the pool failed');
    }
  }

  #timeOut(): void {
    const what = `The transaction was open for ${Math.round(this.settings.timeoutMs)} ms`;
    this.#startRollback(new TransactionError('AMBIT_TX_TIMEOUT', what));
  }

  #rollBackWithScope(cause: unknown): Promise<void> {
    const options = cause === undefined ? undefined : { cause };
    const rolledBack = this.rollback(new Error('The scope of the transaction was disposed', options));
    return this.callbacks ? rolledBack.then(() => this.#calling) : rolledBack;
  }

  // Statements

  /** @internal Runs a statement of `connection`. With options it is `execute()`, without them `query()`. */
  async run(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Promise<unknown> {
    const announced = statementSent.hasSubscribers ? announceStatement(sql) : undefined;
    if (this.nestedRuns.length > 0) refuseOutsider(this.nestedRuns);
    const turn = this.#takeTurn(sql, announced);
    if (turn) await turn;
    const session = this.#session;
    try {
      session.refuse(sql, options);
      const undoesFailure = this.#failedStatement !== undefined && isRollbackTo(sql);
      const failure = undoesFailure ? this.#rollbackOnly : (this.#failedStatement ?? this.#rollbackOnly);
      if (failure) throw failedBefore(failure, 'The statement was not run');
      const start = transactionStatement.hasSubscribers ? performance.now() : 0;
      try {
        const sent = session.send(sql, params, options);
        const isPending = sent instanceof Promise;
        const result = isPending ? await (session.synchronous ? sent : this.#unlessAbandoned(sent)) : sent;
        if (undoesFailure) this.#failedStatement = undefined;
        this.callbacks?.follow(sql);
        if (transactionStatement.hasSubscribers)
          this.#publish({ ...announced, sql, milliseconds: since(start), rows: rowsIn(result) });
        return options ? result : session.rowsOf(result);
      } catch (cause) {
        const error = session.failureOf(cause);
        this.#failedStatement ??= { error };
        if (transactionStatement.hasSubscribers)
          this.#publish({ ...announced, sql, milliseconds: since(start), error });
        // The functions that pass the promise on wait for it only a turn after the call, and V8 finds no caller before that.
        await TURN;
        // After an abort the database only says that the statement was cancelled.
        throw withCallersStack(isAborted(this.#error) ? abortedUse('A statement was cancelled', error) : error);
      }
    } finally {
      this.#queue.leave();
    }
  }

  /** Refuses and publishes a statement after the transaction has completed: the code that sent it awaits too little. */
  #takeTurn(sql: string, announced: object | undefined): Promise<void> | undefined {
    try {
      return this.#queue.enter();
    } catch (error) {
      if (transactionStatement.hasSubscribers) this.#publish({ ...announced, sql, milliseconds: 0, error });
      throw error;
    }
  }

  #unlessAbandoned<T>(result: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => this.#queue.unlessAbandoned(result, resolve, reject));
  }

  #publish(statement: object): void {
    transactionStatement.publish({ scope: this.scope, ...statement });
  }

  /** Why COMMIT must not be sent. */
  get #failure(): PastFailure | undefined {
    const failure = this.#failedStatement ?? this.#rollbackOnly;
    if (failure || this.nestedRuns.length === 0) return failure;
    return { error: new TransactionError('AMBIT_TX_NESTED', 'commit() was called while a nested run was in progress') };
  }

  /** Every use after a commit or a rollback was asked for is refused with this error. */
  readonly #refusal = (): TransactionError => {
    const refusal = REFUSALS[this.#phase];
    if (this.callbacks?.isRunning) {
      const what = `The transaction is ${this.state}, and its callbacks are being called. To write in it, use beforeCommit(); to write afterwards, begin another transaction, with the scope around this one and { before: 'response' }, or with a scope of its own`;
      return new TransactionError('AMBIT_TX_FINISHED', what);
    }
    const error = this.#error;
    if (isAborted(error)) return abortedUse(`The transaction ${refusal}`, error.cause);
    const reason = this.#reason ?? error;
    const options = reason === undefined ? {} : { cause: reason };
    return new TransactionError('AMBIT_TX_FINISHED', `The transaction ${refusal}${because(reason)}`, options);
  };

  // Nested runs

  /**
   * A nested run in a savepoint, for adapters of ORMs: what `runInTransaction()` in the scope of the transaction is.
   *
   * @param work - its statements are undone where it fails, and the transaction continues
   * @param options - what the ORM asks of it, such as an isolation level: refused where the transaction has another
   * @returns what `work` returns
   * @throws `TransactionError` `AMBIT_TX_NESTED`: it asks for what only BEGIN can give, or began outside of the run in progress
   * @throws what `work` throws
   */
  runNested<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    return runInSavepoint(this, work, options);
  }

  /**
   * A nested run in separate calls, for adapters of ORMs whose nested transactions are not one function.
   *
   * @param parent - the run around it, where the code that begins it is not itself part of that
   * @returns the run, which has not begun
   */
  createSavepoint(parent?: Savepoint): Savepoint {
    return new Savepoint(this, parent);
  }

  /** @internal A run that cannot fail alone. Retries and time limits are those of the whole. */
  async runJoined<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    if (this.#isRequested) throw this.#refusal();
    const { isolation, readOnly, signal } = options;
    const comparing = refuseOtherOptions(this, { isolation, readOnly, signal });
    if (comparing) await comparing;
    try {
      return await work();
    } catch (error) {
      // It counts as a failed statement: a savepoint may undo it.
      this.#failedStatement ??= { error, isOfRun: true };
      throw error;
    }
  }

  /** @internal Marks it rollback-only, also after a `ROLLBACK TO`. */
  markRollbackOnly(error: unknown): void {
    this.#rollbackOnly ??= { error };
  }

  // COMMIT and ROLLBACK

  /**
   * Commits. Resolves when committed and wholly completed. Rejects with the reason in every other case, at every call.
   *
   * @throws what a `beforeCommit` callback throws
   * @throws `TransactionError` `AMBIT_TX_COMMIT_FAILED`: the database refused COMMIT, and stored nothing
   * @throws `TransactionError` `AMBIT_TX_OUTCOME_UNKNOWN`: COMMIT was sent, and nobody knows whether it was carried out
   * @throws `TransactionError` `AMBIT_TX_FAILED`: a statement failed before, so it was rolled back
   * @throws `TransactionError` `AMBIT_TX_FINISHED`, `AMBIT_TX_TIMEOUT` or `AMBIT_TX_ABORTED`: it was rolled back for this reason
   */
  async commit(): Promise<void> {
    this.#startCommit();
    await this.#completed.reached();
    this.#throwUnlessCommitted();
  }

  /**
   * Rolls back. Resolves when the transaction has wholly completed. Never rejects, and undoes no commit that was already sent.
   *
   * @param reason - why; a `TransactionError` becomes the `error` of the transaction, anything else the `cause` of that
   */
  async rollback(reason?: unknown): Promise<void> {
    this.#startRollback(reason);
    await this.#completed.reached();
  }

  /** Rolls back what was not committed, at the end of a block that began with `await using`. Never rejects. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.rollback();
  }

  /** @internal Its caller may be the scope's own disposal, so it waits for the database only. */
  async commitFromConnection(): Promise<void> {
    this.#startCommit();
    await this.#outcomeKnown.reached();
    this.#throwUnlessCommitted();
  }

  /** @internal It waits for the database only, as `commitFromConnection()` does. */
  async rollbackFromConnection(): Promise<void> {
    this.#startRollback(undefined);
    await this.#outcomeKnown.reached();
  }

  /** A rollback was asked for, or a commit, and nothing is left to do before that. */
  get #isRequested(): boolean {
    return this.#phase !== 'working' && this.#phase !== 'preparing';
  }

  #startCommit(): void {
    if (this.#phase !== 'working') return;
    if (!this.callbacks?.prepares) return this.#close();
    this.#phase = 'preparing';
    void this.#callBeforeCommit(this.callbacks);
  }

  async #callBeforeCommit(callbacks: Callbacks): Promise<void> {
    await this.#queue.idle();
    try {
      if (!this.#failure) await callbacks.prepare(() => this.#isRequested);
    } catch (error) {
      if (!this.#isRequested) this.#thrown = { error };
      return this.#decideRollback(error);
    }
    if (!this.#isRequested) this.#close();
  }

  #close(): void {
    this.#phase = 'closing';
    void this.#queue.close(this.#refusal).then(() => this.#complete());
  }

  #startRollback(reason: unknown): void {
    this.#decideRollback(reason);
    this.#notifyLost();
  }

  /** Before COMMIT is sent the outcome is then a rollback; after that only the response to COMMIT counts. */
  #decideRollback(reason: unknown): void {
    const wasRequested = this.#isRequested;
    if (wasRequested && this.#phase !== 'closing') return;
    this.#phase = 'rolling back';
    this.#reason = reason;
    this.#error = isTransactionError(reason) ? reason : this.#refusal();
    const settled = this.#queue.clear(this.#refusal);
    if (this.#queue.busy) {
      // Its first statement still waits for a connection.
      if (this.isDeferred) this.#cancel();
      this.#cancelSoon();
    }
    if (!wasRequested) void settled.then(() => this.#complete());
  }

  /** A rollback does not wait long for the statement in progress: it cancels the statement, and at last abandons it. */
  #cancelSoon(): void {
    const { clock, cancelAfterMs, endTimeoutMs } = this.settings;
    const cancel = (): void => {
      // The request may reach the database late and cancel the next user's statement, so there must be no next user.
      this.#broken ??= new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement was cancelled by the rollback');
      this.#cancel();
    };
    const abandon = (): void => {
      const error = new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement continued after it was cancelled');
      this.#broken = error;
      this.#queue.abandon(error);
    };
    const stopCancel = startTimer(clock, cancel, cancelAfterMs);
    const stopAbandon = startTimer(clock, abandon, cancelAfterMs + endTimeoutMs);
    void this.#queue.idle().then(() => {
      stopCancel();
      stopAbandon();
    });
  }

  #cancel(): void {
    callSafely(
      () => this.#session.cancel(),
      (cause) => this.#report('AMBIT_TX_ROLLBACK_FAILED', 'cancel() failed', cause),
    );
  }

  /**
   * Called once, a turn after the first commit or rollback that was asked for and when no statement is in progress: so a commit and a
   * rollback of the same moment are a rollback.
   */
  #complete(): void {
    const failure = this.#phase === 'closing' ? this.#failure : undefined;
    if (failure) {
      this.#phase = 'rolling back';
      this.#error = failedBefore(failure, 'The transaction was rolled back');
    }
    if (this.#phase === 'closing') {
      this.#phase = 'committing';
      this.#send('COMMIT', (failed) => this.#settleCommit(failed));
    } else if (!this.#isBeginSent || this.#queue.isAbandoned) {
      // There is nothing to roll back, or ROLLBACK would only queue up behind the abandoned statement.
      this.#settleRollback();
    } else {
      this.#send('ROLLBACK', (failed) => this.#settleRollback(failed));
    }
  }

  /** Calls `onSettled` once: with the response of the database, or when the time limit has passed. */
  #send(what: 'COMMIT' | 'ROLLBACK', onSettled: (failure?: Failure) => void): void {
    const session = this.#session;
    const { clock, endTimeoutMs } = this.settings;
    if (transactionFinishing.hasSubscribers && !this.isDeferred) transactionFinishing.publish({ scope: this.scope });
    if (transactionFinished.hasSubscribers) this.#sentAt = performance.now();
    const late = (): TransactionError => {
      const detail = `The database did not respond to ${what} within ${endTimeoutMs} ms`;
      return new TransactionError('AMBIT_TX_CONNECTION_LOST', detail);
    };
    try {
      const response = what === 'COMMIT' ? session.commit() : session.rollback();
      if (!session.synchronous) return settleWithin(clock, endTimeoutMs, response, late, onSettled);
      response.then(
        () => onSettled(),
        (error: unknown) => onSettled({ error }),
      );
    } catch (error) {
      onSettled({ error });
    }
  }

  /** Nothing is stored where the database itself says so, otherwise nobody knows. */
  #settleCommit(failed: Failure | undefined): void {
    const cause = failed?.error;
    if (!failed) {
      this.#phase = 'committed';
    } else if (saysNothingStored(cause)) {
      this.#phase = 'rolled back';
      this.#error = new TransactionError('AMBIT_TX_COMMIT_FAILED', `COMMIT failed${because(cause)}`, { cause });
    } else {
      this.#phase = 'unknown';
      this.#error = new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'COMMIT was sent and got no response', { cause });
      this.#broken = this.#error;
    }
    this.#finish();
  }

  #settleRollback(failed?: Failure): void {
    if (failed) {
      const error = new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'ROLLBACK failed', { cause: failed.error });
      this.#broken = error;
      // The failed statement has reported it, so the ROLLBACK that cannot be sent is no second failure.
      if (meaningOf(this.#failure?.error).fault !== 'server') report(this.settings, error);
    }
    this.#phase = 'rolled back';
    this.#finish();
  }

  /** The outcome is decided: disposes the scope, returns the connection, calls the callbacks. */
  #finish(): void {
    if (transactionFinished.hasSubscribers && !this.isDeferred) publishFinished(this, this.#sentAt);
    this.#stopTimer?.();
    this.#stopListening?.();
    this.#outcomeKnown.reach();
    this.#notifyLost();
    if (this.#isScopeDisposed) this.#returnConnection();
    else this.#disposeScope();
  }

  #disposeScope(): void {
    this.#isScopeDisposed = true;
    const { clock, endTimeoutMs } = this.settings;
    const settle = (failure?: Failure): void => {
      if (failure) this.#report('AMBIT_TX_SCOPE_FAILED', 'dispose() of the transaction scope failed', failure.error);
      this.#returnConnection();
    };
    try {
      const disposing = this.scope.dispose(this.#rollbackReason);
      if (disposing) settleWithin(clock, endTimeoutMs, disposing, () => new Error('it took too long'), settle);
      else settle();
    } catch (error) {
      settle({ error });
    }
  }

  #returnConnection(): void {
    callSafely(
      () => this.#session.release(this.#broken),
      (cause) => this.#report('AMBIT_TX_SCOPE_FAILED', 'release() of the connection failed', cause),
    );
    this.#forgetParent?.();
    if (this.callbacks) this.#call(this.callbacks, () => this.#reachCompletion());
    else this.#reachCompletion();
  }

  #reachCompletion(): void {
    removeBegun(this);
    this.#completed.reach();
  }

  /** Why it was rolled back, as the work threw it, for callbacks and disposers; undefined where it was committed. */
  get #rollbackReason(): unknown {
    return this.#phase === 'committed' ? undefined : (this.#reason ?? this.#rejection);
  }

  /** The error of a `beforeCommit` callback is passed on as it is, like that of a run's work. */
  get #rejection(): unknown {
    return this.#thrown ? this.#thrown.error : (this.#error ?? this.#refusal());
  }

  /** For the function that `commit()` is awaited in, whose stack the error receives where no other code gave the reason. */
  #throwUnlessCommitted(): void {
    if (this.#phase === 'committed') return;
    const rejection = this.#rejection;
    const isMadeHere = this.#reason === undefined || this.#error?.code === 'AMBIT_TX_TIMEOUT';
    throw isMadeHere ? withCallersStack(rejection) : rejection;
  }

  #report(code: 'AMBIT_TX_ROLLBACK_FAILED' | 'AMBIT_TX_SCOPE_FAILED', what: string, cause: unknown): void {
    report(this.settings, new TransactionError(code, what, { cause }));
  }

  // Callbacks

  /**
   * Calls `fn` as the last part of the work: it may send statements, and register further callbacks.
   *
   * @param fn - a failure rolls the transaction back, and `commit()` rejects with what it threw
   * @throws `TransactionError` `AMBIT_TX_FINISHED` or `AMBIT_TX_ABORTED`: COMMIT or ROLLBACK is about to be sent,
   *   or was sent
   * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
   */
  beforeCommit(fn: () => void | Promise<void>): void {
    this.#register('beforeCommit', fn);
  }

  /**
   * Calls `fn` when the transaction has committed, and not at all otherwise. `commit()` does not wait for it, unless
   * `before: 'response'` is given.
   *
   * @param fn - its failure goes to `onError`; a statement on the connection of the transaction is refused
   * @param options - whether `commit()` waits for it
   * @throws `TransactionError` `AMBIT_TX_FINISHED` or `AMBIT_TX_ABORTED`: the transaction has been rolled back,
   *   or its outcome is unknown. After a commit, `fn` is called at once
   * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
   * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
   */
  afterCommit(fn: () => unknown, options: AfterCommitOptions = {}): void {
    checkOneOf('before', options.before, ['response']);
    this.#register(options.before ? 'beforeResponse' : 'afterCommit', fn);
  }

  /**
   * Calls `fn` when the work around it was rolled back: for what a database cannot undo, such as an uploaded file.
   * `rollback()`, and so the next attempt of `runInTransaction()`, waits for it.
   *
   * @param fn - receives the reason: what the work or the nested run around it threw, or what `rollback()` was called with. Where
   *   none was given, that is a `TransactionError`. Its failure goes to `onError`
   * @throws `TransactionError` `AMBIT_TX_FINISHED` or `AMBIT_TX_ABORTED`: the transaction has completed
   * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
   */
  afterRollback(fn: (reason: unknown) => unknown): void {
    this.#register('afterRollback', fn);
  }

  /**
   * Calls `fn` after all other callbacks, whatever the outcome is. It is the only one that is called when the outcome is
   * unknown.
   *
   * @param fn - receives the outcome of the work around it. Its failure goes to `onError`
   * @throws `TransactionError` `AMBIT_TX_FINISHED` or `AMBIT_TX_ABORTED`: the transaction has completed
   * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
   */
  afterEnd(fn: (outcome: TransactionOutcome) => unknown): void {
    this.#register('afterEnd', fn);
  }

  /**
   * Registers a callback of the whole transaction, for adapters of ORMs: one nested run may open an ORM and all others use it, so
   * no nested run undoes the callback, or refuses it.
   *
   * @param kind - when it is called
   * @param fn - as for the method of this name
   * @throws `TransactionError` `AMBIT_TX_FINISHED` or `AMBIT_TX_ABORTED`: the transaction has completed
   */
  onWhole(kind: CallbackKind, fn: (argument: never) => unknown): void {
    this.#register(kind, fn, true);
  }

  #register(kind: CallbackKind, fn: (argument: never) => unknown, ofWhole = false): void {
    checkFunction('The callback', fn, { required: true });
    if (this.nestedRuns.length > 0 && !ofWhole) refuseOutsider(this.nestedRuns, 'A callback was registered');
    if (!this.#accepts(kind)) throw this.#refusal();
    const isLate = this.#phase === 'committed';
    const callbacks = isLate ? new Callbacks() : (this.callbacks ??= new Callbacks());
    callbacks.add(kind, fn, ofWhole);
    if (isLate) this.#call(callbacks, () => undefined);
  }

  #accepts(kind: CallbackKind): boolean {
    if (this.#phase === 'committed') return kind === 'afterCommit' || kind === 'beforeResponse';
    if (this.#phase === 'rolled back' || this.#phase === 'unknown') return false;
    return kind !== 'beforeCommit' || !this.#isRequested;
  }

  /** Calls them, now that the transaction is over. `onReleased` is called where its caller may go on. */
  #call(callbacks: Callbacks, onReleased: () => void): void {
    this.#calling = callbacks.run({ state: this.state, reason: this.#rollbackReason }, this.settings, onReleased);
    disposeAfter(this.#calling, this.parent);
  }
}

const DEFAULTS: ExecuteOptions = {};

/**
 * The `IConnection` of a transaction scope. It works until the transaction completes: after that its queue refuses
 * every statement. `commit()` and `rollback()` complete the whole transaction, so that nothing can commit it twice.
 */
class ScopedConnection implements IConnection {
  readonly #transaction: Transaction;

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
  }

  /** For `transactionOf()`, in any copy of this package. */
  get [TRANSACTION](): Transaction {
    return this.#transaction;
  }

  async beginTransaction(): Promise<void> {
    throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'beginTransaction() was called on the IConnection of a scope');
  }

  commit(): Promise<void> {
    return this.#transaction.commitFromConnection();
  }

  rollback(): Promise<void> {
    return this.#transaction.rollbackFromConnection();
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#transaction.run(sql, params) as Promise<R[]>;
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options: ExecuteOptions = DEFAULTS,
  ): Promise<ExecuteResult<R>> {
    return this.#transaction.run(sql, params, options) as Promise<ExecuteResult<R>>;
  }
}

/** Why a transaction can only roll back. */
interface PastFailure extends Failure {
  /** A run that had joined the transaction failed, and no statement of it. */
  readonly isOfRun?: boolean;
}

/** The consequence of a statement, or a run, that failed before. */
function failedBefore({ error: cause, isOfRun }: PastFailure, consequence: string): TransactionError {
  const reason = isOfRun ? 'a run that had joined the transaction failed' : 'an earlier statement failed';
  return new TransactionError('AMBIT_TX_FAILED', `${consequence}, because ${reason}`, { cause });
}

function isAborted(error: TransactionError | undefined): error is TransactionError {
  return error?.code === 'AMBIT_TX_ABORTED';
}

function abortedUse(what: string, cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_ABORTED', what, { cause });
}

/** Calls a function of a foreign pool, which may throw, or return a promise that rejects: neither may crash the process. */
export function callSafely(call: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = call();
    if (result !== undefined) Promise.resolve(result).catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}

/** Calls `listener` once when the signal aborts, or at once if it has. The function returned stops listening. */
export function onAbort(signal: AbortSignal, listener: (error: TransactionError) => void): () => void {
  const call = (): void => listener(aborted(signal));
  signal.addEventListener('abort', call, { once: true });
  if (signal.aborted) call();
  return () => signal.removeEventListener('abort', call);
}

/** Something that happens once. It creates a promise only where somebody waits for it. */
class Milestone {
  #isReached = false;
  #promise: Promise<void> | undefined = undefined;
  #resolve: (() => void) | undefined = undefined;

  reach(): void {
    this.#isReached = true;
    this.#resolve?.();
  }

  reached(): Promise<void> {
    this.#promise ??= new Promise((resolve) => {
      if (this.#isReached) resolve();
      else this.#resolve = resolve;
    });
    return this.#promise;
  }
}
