import type { IContainer } from '@ambit/container';
import { type Failure, settleWithin, startTimer } from '../core/clock.js';
import type { AfterBegin, IConnection, IPooledConnection } from '../core/contract.js';
import { aborted, asCoded, report, TransactionError } from '../core/errors.js';
import { publishFinished, since, transactionBegun, transactionFinished, transactionFinishing } from '../core/events.js';
import { checkFunction, checkOneOf, type TransactionOptions } from '../core/options.js';
import { StatementQueue } from '../core/queues.js';
import { type AfterCommitOptions, type CallbackKind, Callbacks } from './callbacks.js';
import {
  Completion,
  LostSignal,
  Milestone,
  returnToPool,
  type TransactionOutcome,
  type TransactionState,
} from './completion.js';
import { type NestedRun, refuseOtherOptions, refuseOutsider, runInSavepoint, Savepoint } from './savepoint.js';
import { beforeDispose, disposeAfter } from './scope-disposal.js';
import { ScopedConnection } from './scoped-connection.js';
import type { TransactionSettings } from './start.js';
import { addBegun, removeBegun, TRANSACTION } from './transaction-of.js';

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
 *   const transaction = await beginTransaction(requestScope);
 *   try {
 *     const connection = transaction.scope.resolve<IConnection>('IConnection');
 *     await connection.query('INSERT INTO orders (id) VALUES ($1)', ['42']);
 *     await transaction.commit();
 *   } catch (error) {
 *     await transaction.rollback(error);
 *     throw error;
 *   }
 * }
 * ```
 */
export class Transaction {
  /** The scope tagged `transaction`, with the open connection as `IConnection`, or as what the option `connection` says. */
  readonly scope: IContainer;
  /** @internal The scope that it began in. */
  readonly parent: IContainer;
  /** @internal What it was begun with. */
  readonly settings: TransactionSettings;
  /** @internal The nested runs in progress, outermost first. */
  readonly nestedRuns: NestedRun[] = [];
  /** @internal The transaction before it that began in the same scope, while both have not completed. */
  begunBefore: Transaction | undefined = undefined;
  /** @internal Runs that are started in the scope around it are refused while it is open. */
  readonly guardsParent: boolean;
  readonly #pooled: IPooledConnection;
  readonly #connection: ScopedConnection;
  readonly #completion: Completion;
  readonly #lost = new LostSignal();
  readonly #outcomeKnown = new Milestone();
  readonly #completed = new Milestone();
  /** When COMMIT or ROLLBACK was sent, if anybody listens. */
  #sentAt = 0;
  #stopTimer: (() => void) | undefined = undefined;
  #stopListening: (() => void) | undefined = undefined;
  #forgetParent: (() => void) | undefined = undefined;
  /** Also when somebody else disposes it: to wait for its disposal from within would be to wait for ourselves. */
  #isScopeDisposed = false;
  /** The callbacks that are being called. */
  #calling: Promise<void> | undefined = undefined;

  /** @internal Takes over an acquired connection; call `beginTransaction()` instead. */
  constructor(
    parent: IContainer,
    scope: IContainer,
    connection: IPooledConnection,
    settings: TransactionSettings,
    guardsParent: boolean,
  ) {
    const queue = new StatementQueue();
    this.scope = scope;
    this.parent = parent;
    this.settings = settings;
    this.guardsParent = guardsParent;
    this.#pooled = connection;
    this.#connection = new ScopedConnection(this, connection, queue);
    this.#completion = new Completion(connection, queue, settings, this.#connection, (progress) => {
      if (progress === 'sending') this.#publishFinishing();
      else this.#complete();
    });
  }

  /** How far it is: `acquired` until BEGIN has succeeded, then `open`, then its outcome. */
  get state(): TransactionState {
    return this.#completion.state;
  }

  /** What the scope has as `IConnection`: it refuses statements once the transaction has completed. */
  get connection(): IConnection {
    return this.#connection;
  }

  /** Why it did not commit, once that is certain. */
  get error(): TransactionError | undefined {
    return this.#completion.error;
  }

  /**
   * Aborts once a rollback was asked for, or the outcome is unknown, so that the work may stop early. A failed statement
   * alone does not abort it: a nested run or a `ROLLBACK TO` may undo that failure.
   */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Calls one listener with the error when the signal aborts, or at once if it has, for much less than the signal costs.
   * A second listener replaces the first.
   *
   * @param listener - receives why the transaction cannot commit any more
   */
  onLost(listener: (error: TransactionError) => void): void {
    this.#lost.listen(listener);
  }

  /** @internal Gives the level that the database has chosen, where the pool can say it. */
  get isolationSql(): string | undefined {
    return this.#pooled.isolationSql;
  }

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
    if (this.#completion.isRequested) throw this.#completion.refusal();
    const { isolation, readOnly, signal } = options;
    const comparing = refuseOtherOptions(this, { isolation, readOnly, signal });
    if (comparing) await comparing;
    try {
      return await work();
    } catch (error) {
      this.#connection.fail(error);
      throw error;
    }
  }

  /** @internal From now on it can only roll back, also after a `ROLLBACK TO`. */
  markRollbackOnly(error: unknown): void {
    this.#connection.markRollbackOnly(error);
  }

  /** @internal Registers the connection, sends BEGIN. When it fails, all of that is undone before `onFailed` is called. */
  begin(onBegun: () => void, onFailed: (error: TransactionError) => void, afterBegin?: AfterBegin): void {
    const completion = this.#completion;
    const start = transactionBegun.hasSubscribers ? performance.now() : 0;
    const settle = (failure?: Failure): void => {
      if (failure) completion.rollback(asCoded(failure.error, 'AMBIT_TX_BEGIN_FAILED', 'BEGIN failed'));
      if (completion.isRequested)
        return void this.#completed.reached().then(() => onFailed(completion.error ?? completion.refusal()));
      if (transactionBegun.hasSubscribers) transactionBegun.publish({ scope: this.scope, milliseconds: since(start) });
      onBegun();
    };
    try {
      this.#open();
    } catch (error) {
      return settle({ error });
    }
    if (completion.isRequested) return settle();
    const prepare = (failure?: Failure): void => {
      if (failure || completion.isRequested || !afterBegin) settle(failure);
      else this.#prepare(afterBegin, settle);
    };
    completion.begin(this.settings.beginOptions, afterBegin ? prepare : settle);
  }

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
    this.#completion.commit();
    await this.#completed.reached();
    this.#completion.throwUnlessCommitted();
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

  /** @internal Its caller may be the scope's own disposal, so it waits for the database only. */
  async commitFromConnection(): Promise<void> {
    this.#completion.commit();
    await this.#outcomeKnown.reached();
    this.#completion.throwUnlessCommitted();
  }

  /** @internal It waits for the database only, as `commitFromConnection()` does. */
  async rollbackFromConnection(): Promise<void> {
    this.#startRollback(undefined);
    await this.#outcomeKnown.reached();
  }

  /**
   * Calls `fn` as the last part of the work: it may send statements, and register further callbacks.
   *
   * @param fn - a failure rolls the transaction back, and `commit()` rejects with what it threw
   * @throws `TransactionError` `AMBIT_TX_FINISHED` or `AMBIT_TX_ABORTED`: COMMIT or ROLLBACK is about to be sent,
   *   or was sent
   * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
   *
   * @example
   * ```ts
   * import type { IContainer } from '@ambit/container';
   * import { runInTransaction, transactionOf } from '@ambit/transaction';
   *
   * declare const entities: { flush(): Promise<void> };
   * declare const requestScope: IContainer;
   * await runInTransaction(requestScope, async (scope) => {
   *   transactionOf(scope)?.beforeCommit(() => entities.flush());
   * });
   * ```
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
   *
   * @example
   * ```ts
   * import type { IContainer } from '@ambit/container';
   * import { runInTransaction, transactionOf } from '@ambit/transaction';
   *
   * declare const cache: { delete(key: string): Promise<void> };
   * declare const requestScope: IContainer;
   * await runInTransaction(requestScope, async (scope) => {
   *   transactionOf(scope)?.afterCommit(() => cache.delete('orders'), { before: 'response' });
   * });
   * ```
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
   *
   * @example
   * ```ts
   * import type { IContainer } from '@ambit/container';
   * import { runInTransaction, transactionOf } from '@ambit/transaction';
   *
   * declare const files: { write(name: string): Promise<void>; remove(name: string): Promise<void> };
   * declare const requestScope: IContainer;
   * await runInTransaction(requestScope, async (scope) => {
   *   transactionOf(scope)?.afterRollback(() => files.remove('invoice.pdf'));
   *   await files.write('invoice.pdf');
   * });
   * ```
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
   *
   * @example
   * ```ts
   * import type { IContainer } from '@ambit/container';
   * import { runInTransaction, transactionOf } from '@ambit/transaction';
   *
   * declare const metrics: { count(name: string): void };
   * declare const requestScope: IContainer;
   * await runInTransaction(requestScope, async (scope) => {
   *   transactionOf(scope)?.afterEnd((outcome) => metrics.count(`order ${outcome}`));
   * });
   * ```
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

  /** @internal */
  get callbacks(): Callbacks | undefined {
    return this.#completion.callbacks;
  }

  #register(kind: CallbackKind, fn: (argument: never) => unknown, ofWhole = false): void {
    const completion = this.#completion;
    checkFunction('The callback', fn, { required: true });
    if (this.nestedRuns.length > 0 && !ofWhole) refuseOutsider(this.nestedRuns, 'A callback was registered');
    if (!completion.accepts(kind)) throw completion.refusal();
    const isLate = completion.state === 'committed';
    const callbacks = isLate ? new Callbacks() : (completion.callbacks ??= new Callbacks());
    callbacks.add(kind, fn, ofWhole);
    if (isLate) this.#call(callbacks, () => undefined);
  }

  /** Calls them, now that the transaction is over. `onReleased` is called where its caller may go on. */
  #call(callbacks: Callbacks, onReleased: () => void): void {
    this.#calling = callbacks.run(this.#completion, this.settings, onReleased);
    disposeAfter(this.#calling, this.parent);
  }

  /** Everything that may roll it back is connected before BEGIN is sent. */
  #open(): void {
    const { scope, settings } = this;
    const { signal, clock, timeoutMs } = settings;
    (scope as { [TRANSACTION]?: Transaction })[TRANSACTION] = this;
    addBegun(this);
    this.#watchScope();
    scope.register<string>(settings.database.connection, () => this.#connection);
    this.#stopTimer = startTimer(clock, () => this.#timeOut(), timeoutMs);
    if (signal) this.#stopListening = onAbort(signal, (error) => void this.rollback(error));
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

  /**
   * Calls the function of the pool that is part of BEGIN, and `settle` once: when that has settled, or when the transaction has
   * completed before that, since a function that waits for something else than the connection does not notice a rollback.
   */
  #prepare(afterBegin: AfterBegin, settle: (failure?: Failure) => void): void {
    let isSettled = false;
    const settleOnce = (failure?: Failure): void => {
      if (isSettled) return;
      isSettled = true;
      settle(failure);
    };
    void this.#completed.reached().then(() => settleOnce());
    (async () => afterBegin(this.#connection, this.scope))().then(
      () => settleOnce(),
      (error: unknown) =>
        settleOnce({ error: asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'afterBegin() of the pool failed') }),
    );
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

  #startRollback(reason: unknown): void {
    this.#completion.rollback(reason);
    if (this.error) this.#lost.notify(this.error);
  }

  #publishFinishing(): void {
    if (transactionFinishing.hasSubscribers) transactionFinishing.publish({ scope: this.scope });
    if (transactionFinished.hasSubscribers) this.#sentAt = performance.now();
  }

  /** The outcome is decided. */
  #complete(): void {
    if (transactionFinished.hasSubscribers) publishFinished(this, this.#sentAt);
    this.#stopTimer?.();
    this.#stopListening?.();
    this.#outcomeKnown.reach();
    if (this.error) this.#lost.notify(this.error);
    if (this.#isScopeDisposed) this.#returnConnection();
    else this.#disposeScope();
  }

  #disposeScope(): void {
    this.#isScopeDisposed = true;
    const { clock, endTimeoutMs } = this.settings;
    const settle = (failure?: Failure): void => {
      if (failure) report(this.settings, disposalFailed(failure.error));
      this.#returnConnection();
    };
    try {
      const disposing = this.scope.dispose(this.#completion.reason);
      if (disposing) settleWithin(clock, endTimeoutMs, disposing, () => new Error('it took too long'), settle);
      else settle();
    } catch (error) {
      settle({ error });
    }
  }

  #returnConnection(): void {
    returnToPool(this.#pooled, this.#completion.broken, this.settings);
    this.#forgetParent?.();
    if (this.callbacks) this.#call(this.callbacks, () => this.#reachCompletion());
    else this.#reachCompletion();
  }

  #reachCompletion(): void {
    removeBegun(this);
    this.#completed.reach();
  }
}

function disposalFailed(cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_SCOPE_FAILED', 'dispose() of the transaction scope failed', { cause });
}

/** Calls `listener` once when the signal aborts, or at once if it has. The function returned stops listening. */
export function onAbort(signal: AbortSignal, listener: (error: TransactionError) => void): () => void {
  const call = (): void => listener(aborted(signal));
  signal.addEventListener('abort', call, { once: true });
  if (signal.aborted) call();
  return () => signal.removeEventListener('abort', call);
}
