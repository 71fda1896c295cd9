import type { IContainer } from '@ambit/container';
import { onAbort } from './cancellation.js';
import { type Failure, startTimer } from '../core/clock.js';
import type { AfterBegin, IConnection, IPooledConnection } from '../core/contract.js';
import { asCoded, type TransactionError, withCallersStack } from '../core/errors.js';
import { publishEnded, since, transactionBegun, transactionFinished } from '../core/events.js';
import type { Settings, TransactionOptions } from '../core/options.js';
import { StatementQueue } from '../core/statement-queue.js';
import { AroundCommit, thenCall } from './callbacks.js';
import { Completion, isFailedCommit, openTooLong, type TransactionState } from './completion.js';
import { release } from '../pool/checkout.js';
import { refuseOtherOptions, runInSavepoint, Savepoint } from './savepoint.js';
import { ScopeLifetime } from './scope-lifetime.js';
import { ScopedConnection, TRANSACTION } from './scoped-connection.js';
import { addBegun, removeBegun } from './transaction-of.js';

/**
 * A transaction and its scope. They complete together and exactly once, no matter who asks and how often.
 *
 * The order is always the same: statements in progress settle, COMMIT or ROLLBACK, the scope is disposed, the connection
 * is returned to the pool, or destroyed when it may be broken. One exception: when somebody else disposes the scope, its
 * instances are disposed before the ROLLBACK, because a container with `defer()` disposes the newest first.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, beginTransaction } from '@ambit/transaction';
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
export class Transaction extends AroundCommit {
  /** The scope tagged `transaction`, with the open connection as `IConnection`, or as what the option `connection` says. */
  readonly scope: IContainer;
  /** @internal The transaction before it that began in the same scope, while both have not completed. */
  begunBefore: Transaction | undefined = undefined;
  /** @internal Runs that are started in the scope around it are refused while it is open. */
  readonly guardsParent: boolean;
  readonly #lifetime: ScopeLifetime;
  readonly #pooled: IPooledConnection;
  /** @internal */
  protected readonly scoped: ScopedConnection;
  /** @internal */
  protected readonly completion: Completion;
  #stopTimer: (() => void) | undefined = undefined;
  #stopListening: (() => void) | undefined = undefined;
  readonly #lost = new LostSignal();
  readonly #decided = new Milestone();
  readonly #completed = new Milestone();

  /** @internal Takes over an acquired connection; call `beginTransaction()` instead. */
  constructor(
    parent: IContainer,
    scope: IContainer,
    connection: IPooledConnection,
    settings: Settings,
    guardsParent: boolean,
  ) {
    super(parent, settings);
    this.guardsParent = guardsParent;
    const queue = new StatementQueue();
    this.scope = scope;
    this.#lifetime = new ScopeLifetime(parent, scope, (reason) => this.#rollBackWithScope(reason));
    this.#pooled = connection;
    this.scoped = new ScopedConnection(this, connection, queue);
    this.completion = new Completion(connection, queue, settings, this.scoped, () => this.#complete());
  }

  /** How far it is: `acquired` until BEGIN has succeeded, then `open`, then its outcome. */
  get state(): TransactionState {
    return this.completion.state;
  }

  /** What the scope has as `IConnection`: it refuses statements once the transaction has completed. */
  get connection(): IConnection {
    return this.scoped;
  }

  /** Why it did not commit, once that is certain. */
  get error(): TransactionError | undefined {
    return this.completion.error;
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

  /** @internal A nested run in a savepoint. */
  runNested<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    return runInSavepoint(this, work, options);
  }

  /** @internal A nested run in separate calls, for the drivers of ORMs. */
  createSavepoint(parent?: Savepoint): Savepoint {
    return new Savepoint(this, parent);
  }

  /** @internal A run that cannot fail alone. Retries and time limits are those of the whole. */
  async runJoined<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    if (this.completion.isRequested) throw this.completion.refusal();
    const { isolation, readOnly, signal } = options;
    const comparing = refuseOtherOptions(this, { isolation, readOnly, signal });
    if (comparing) await comparing;
    try {
      return await work();
    } catch (error) {
      this.scoped.fail(error);
      throw error;
    }
  }

  /** @internal From now on it can only roll back, also after a `ROLLBACK TO`. */
  markRollbackOnly(error: unknown): void {
    this.scoped.markRollbackOnly(error);
  }

  /** @internal Registers the connection, sends BEGIN. When it fails, all of that is undone before `onFailed` is called. */
  begin(onBegun: () => void, onFailed: (error: TransactionError) => void, afterBegin?: AfterBegin): void {
    const completion = this.completion;
    const start = transactionBegun.hasSubscribers ? performance.now() : 0;
    const settle = (failure?: Failure): void => {
      if (failure && !completion.isRequested)
        completion.rollback(asCoded(failure.error, 'AMBIT_TX_BEGIN_FAILED', 'BEGIN failed'));
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
    const prepare = afterBegin && (() => completion.isRequested || afterBegin(this.scoped, this.scope));
    completion.begin(this.settings.terms, prepare ? thenCall(prepare, this.#completed, settle) : settle);
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
    this.completion.commit();
    await this.#completed.reached();
    if (this.error && isFailedCommit(this.error)) withCallersStack(this.error);
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

  /** @internal Its caller may be the scope's own disposal, so it waits for the database only. */
  async commitFromConnection(): Promise<void> {
    this.completion.commit();
    await this.#decided.reached();
    this.#throwUnlessCommitted();
  }

  /** @internal The same. */
  async rollbackFromConnection(): Promise<void> {
    this.#startRollback(undefined);
    await this.#decided.reached();
  }

  /** Everything that may roll it back is connected before BEGIN is sent. */
  #open(): void {
    const { scope, settings } = this;
    const { signal, clock, timeoutMs } = settings;
    (scope as { [TRANSACTION]?: Transaction })[TRANSACTION] = this;
    addBegun(this);
    this.#lifetime.watch();
    scope.register<string>(settings.database.connection, () => this.scoped);
    this.#stopTimer = startTimer(clock, () => void this.rollback(openTooLong(timeoutMs)), timeoutMs);
    if (signal) this.#stopListening = onAbort(signal, (error) => void this.rollback(error));
  }

  /** Somebody else disposes the scope, and waits for the callbacks too. */
  #rollBackWithScope(reason: unknown): Promise<void> {
    const rolledBack = this.rollback(reason);
    return this.callbacks ? rolledBack.then(() => this.callbacksDone()) : rolledBack;
  }

  #startRollback(reason: unknown): void {
    this.completion.rollback(reason);
    if (this.error) this.#lost.notify(this.error);
  }

  #throwUnlessCommitted(): void {
    if (this.state !== 'committed') throw this.completion.rejection;
  }

  /** The outcome is decided. */
  #complete(): void {
    if (transactionFinished.hasSubscribers) publishEnded(this, this.completion.sentAt);
    this.#stopTimer?.();
    this.#stopListening?.();
    this.#decided.reach();
    if (this.error) this.#lost.notify(this.error);
    this.#lifetime.dispose(this.settings, this.completion.reason, () => this.#release());
  }

  #release(): void {
    release(this.#pooled, this.completion.broken, this.settings);
    this.#lifetime.forget();
    if (this.callbacks) this.runCallbacks(this.callbacks, () => this.#reachCompletion());
    else this.#reachCompletion();
  }

  #reachCompletion(): void {
    removeBegun(this);
    this.#completed.reach();
  }
}

/** Something that happens once. It creates a promise only where somebody waits for it. */
export class Milestone {
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

/** Notifies the work that its transaction cannot commit any more. It creates an `AbortSignal` only when somebody reads it. */
class LostSignal {
  #error: TransactionError | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #listener: ((error: TransactionError) => void) | undefined = undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#error) this.#controller.abort(this.#error);
    }
    return this.#controller.signal;
  }

  /** One listener at a time, for much less than a signal costs. */
  listen(listener: (error: TransactionError) => void): void {
    this.#listener = listener;
    if (this.#error) listener(this.#error);
  }

  notify(error: TransactionError): void {
    this.#error = error;
    this.#controller?.abort(error);
    this.#listener?.(error);
  }
}
