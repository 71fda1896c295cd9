import type { IContainer } from '@ambit/container';
import { onAbort } from '../core/abort-signal.js';
import { type Failure, settleWithin, startTimer } from '../core/clock.js';
import type { IConnection, IPooledConnection } from '../core/contract.js';
import { asCoded, TransactionError } from '../core/errors.js';
import { since, transactionBegun, transactionEnded } from '../core/events.js';
import type { Settings, TransactionOptions } from '../core/options.js';
import { report } from '../core/report.js';
import { StatementQueue } from '../core/statement-queue.js';
import { Completion, type TransactionState } from './completion.js';
import type { NestedRun } from './nested-runs.js';
import { release } from './release.js';
import { runInSavepoint } from './savepoint.js';
import { beforeDispose } from './scope-disposal.js';
import { ScopedConnection, TRANSACTION } from './scoped-connection.js';

/**
 * A transaction and its scope. They complete together and exactly once, whoever asks and however often.
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
export class Transaction {
  /** The scope tagged `transaction`, with the open connection as `IConnection`. */
  readonly scope: IContainer;
  /** @internal What it was begun with. */
  readonly settings: Settings;
  /** @internal The nested runs in progress, outermost first. */
  readonly nestedRuns: NestedRun[] = [];
  readonly #parent: IContainer;
  readonly #pooled: IPooledConnection;
  readonly #connection: ScopedConnection;
  readonly #completion: Completion;
  #stopTimer: (() => void) | undefined = undefined;
  #stopListening: (() => void) | undefined = undefined;
  #forgetParent: (() => void) | undefined = undefined;
  /** Somebody disposes the scope already: to wait for its disposal from within would be to wait for ourselves. */
  #isScopeDisposed = false;
  #abort: AbortController | undefined = undefined;
  #onLost: ((error: TransactionError) => void) | undefined = undefined;
  #phase: 'in progress' | 'decided' | 'completed' = 'in progress';
  #whenDecided: (() => void)[] | undefined = undefined;
  #completed: Promise<void> | undefined = undefined;
  #resolveCompleted: (() => void) | undefined = undefined;

  /** Takes over an acquired connection; call `beginTransaction()` instead. */
  constructor(parent: IContainer, scope: IContainer, connection: IPooledConnection, settings: Settings) {
    const queue = new StatementQueue();
    this.scope = scope;
    this.settings = settings;
    this.#parent = parent;
    this.#pooled = connection;
    this.#connection = new ScopedConnection(this, connection, queue);
    this.#completion = new Completion(connection, queue, settings, this.#connection, () => this.#decided());
  }

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
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.error) this.#abort.abort(this.error);
    }
    return this.#abort.signal;
  }

  /**
   * Calls one listener with the error when the signal aborts, or at once if it has, for much less than the signal costs.
   * A second listener replaces the first.
   */
  onLost(listener: (error: TransactionError) => void): void {
    this.#onLost = listener;
    if (this.error) listener(this.error);
  }

  /** @internal Registers the connection, sends BEGIN. When it fails, all of that is undone before `onFailed` is called. */
  begin(onBegun: () => void, onFailed: (error: TransactionError) => void): void {
    const completion = this.#completion;
    const start = transactionBegun.hasSubscribers ? performance.now() : 0;
    const settle = (failure?: Failure): void => {
      if (!failure && !completion.isRequested) {
        if (transactionBegun.hasSubscribers)
          transactionBegun.publish({ scope: this.scope, milliseconds: since(start) });
        return onBegun();
      }
      if (!completion.isRequested)
        completion.rollback(asCoded(failure?.error, 'AMBIT_TX_BEGIN_FAILED', 'BEGIN failed'));
      void this.#whenCompleted().then(() => onFailed(completion.error ?? completion.refusal()));
    };
    try {
      this.#open();
    } catch (error) {
      return settle({ error });
    }
    if (completion.isRequested) settle();
    else completion.begin(this.settings.terms, settle);
  }

  /** Resolves when committed and wholly completed. Rejects with the reason in every other case, at every call. */
  async commit(): Promise<void> {
    this.#completion.commit();
    await this.#whenCompleted();
    this.#throwUnlessCommitted();
  }

  /** Resolves when the transaction has wholly completed. Never rejects, and undoes no commit that was already sent. */
  async rollback(reason?: unknown): Promise<void> {
    this.#startRollback(reason);
    await this.#whenCompleted();
  }

  /** @internal A nested run in a savepoint. Other copies of this package call it, so that one copy knows all nested runs. */
  runNested<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    return runInSavepoint(this, work, options);
  }

  /** @internal Its caller may be the scope's own disposal, so it waits for the database only. */
  async commitFromConnection(): Promise<void> {
    this.#completion.commit();
    await this.#outcome();
    this.#throwUnlessCommitted();
  }

  /** @internal The same. */
  async rollbackFromConnection(): Promise<void> {
    this.#startRollback(undefined);
    await this.#outcome();
  }

  /** @internal From now on it can only roll back, also after a `ROLLBACK TO`. */
  markRollbackOnly(error: unknown): void {
    this.#connection.markRollbackOnly(error);
  }

  /** Everything that may roll it back is connected before BEGIN is sent. */
  #open(): void {
    const { scope, settings } = this;
    const { signal, clock, timeoutMs } = settings;
    (scope as { [TRANSACTION]?: Transaction })[TRANSACTION] = this;
    const onDispose = (): Promise<void> | undefined => {
      if (this.#isScopeDisposed) return undefined;
      this.#isScopeDisposed = true;
      return this.#scopeDisposed();
    };
    if (scope.defer) scope.defer(onDispose);
    else {
      beforeDispose(scope, onDispose);
      // A foreign scope may dispose its children before ROLLBACK, and past our hook.
      this.#forgetParent = beforeDispose(this.#parent, () => this.#scopeDisposed());
    }
    scope.register('IConnection', () => this.#connection);
    this.#stopTimer = startTimer(clock, () => void this.rollback(openTooLong(timeoutMs)), timeoutMs);
    if (signal) this.#stopListening = onAbort(signal, (error) => void this.rollback(error));
  }

  #scopeDisposed(): Promise<void> {
    return this.rollback(new Error('The scope of the transaction was disposed'));
  }

  #startRollback(reason: unknown): void {
    this.#completion.rollback(reason);
    this.#notifyIfLost();
  }

  #notifyIfLost(): void {
    if (!this.error) return;
    this.#abort?.abort(this.error);
    this.#onLost?.(this.error);
  }

  #throwUnlessCommitted(): void {
    if (this.state !== 'committed') throw this.error ?? this.#completion.refusal();
  }

  #outcome(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#phase === 'in progress') (this.#whenDecided ??= []).push(resolve);
      else resolve();
    });
  }

  #whenCompleted(): Promise<void> {
    this.#completed ??= new Promise((resolve) => {
      if (this.#phase === 'completed') resolve();
      else this.#resolveCompleted = resolve;
    });
    return this.#completed;
  }

  #decided(): void {
    this.#phase = 'decided';
    if (transactionEnded.hasSubscribers) this.#publishEnded();
    this.#stopTimer?.();
    this.#stopListening?.();
    if (this.#whenDecided) for (const resolve of this.#whenDecided) resolve();
    this.#notifyIfLost();
    this.#disposeScope();
  }

  #disposeScope(): void {
    if (this.#isScopeDisposed) return this.#finish();
    const { clock, endTimeoutMs } = this.settings;
    this.#isScopeDisposed = true;
    try {
      const disposing = this.scope.dispose();
      const late = (): Error => new Error('it took too long');
      if (disposing) settleWithin(clock, endTimeoutMs, disposing, late, (failure) => this.#finish(failure));
      else this.#finish();
    } catch (error) {
      this.#finish({ error });
    }
  }

  #finish(disposal?: Failure): void {
    const { settings } = this;
    if (disposal) {
      const detail = 'dispose() of the transaction scope failed';
      report(settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', detail, { cause: disposal.error }));
    }
    release(this.#pooled, this.#completion.broken, settings);
    this.#forgetParent?.();
    this.#phase = 'completed';
    this.#resolveCompleted?.();
  }

  #publishEnded(): void {
    const { scope, state: outcome, error } = this;
    const milliseconds = since(this.#completion.sentAt);
    transactionEnded.publish({ scope, outcome, milliseconds, ...(error ? { error } : {}) });
  }
}

function openTooLong(ms: number): TransactionError {
  return new TransactionError('AMBIT_TX_TIMEOUT', `The transaction was open for ${Math.round(ms)} ms`);
}
