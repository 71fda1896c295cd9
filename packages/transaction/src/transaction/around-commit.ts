import type { IContainer } from '@ambit/container';
import { checkFunction, checkOneOf, type Settings } from '../core/options.js';
import { type CallbackKind, Callbacks } from './callbacks.js';
import type { Completion } from './completion.js';
import { type NestedRun, refuseOutsider } from './nested-runs.js';
import type { TransactionOutcome } from './outcome.js';
import { disposeAfter } from './unfinished.js';

/** Who waits for an `afterCommit` callback. */
export interface AfterCommitOptions {
  /** Whether `commit()`, and with it the response of a host, waits for the callback. It still cannot make either fail. */
  readonly before?: 'response';
}

/**
 * What can be registered on a transaction. The callbacks run once, in the order in which they were registered: those of a
 * nested run that was undone as rolled back, whatever becomes of the transaction, and all others with the transaction.
 *
 * All but `beforeCommit` run when the connection has been returned to the pool and the scope is disposed. Their failures
 * go to `onError` of the transaction, and each may take `endTimeoutMs` before the next one is called. The scope that the
 * transaction began in waits for them when it is disposed.
 */
export abstract class AroundCommit {
  /** @internal The scope that it began in. */
  readonly parent: IContainer;
  /** @internal What it was begun with. */
  readonly settings: Settings;
  /** @internal The nested runs in progress, outermost first. */
  readonly nestedRuns: NestedRun[] = [];
  /** @internal */
  protected abstract readonly completion: Completion;
  #running: Promise<void> | undefined = undefined;

  constructor(parent: IContainer, settings: Settings) {
    this.parent = parent;
    this.settings = settings;
  }

  /**
   * Calls `fn` as the last part of the work: it may send statements, and register further callbacks.
   *
   * @param fn - a failure rolls the transaction back, and `commit()` rejects with what it threw
   * @throws `TransactionError` `AMBIT_TX_FINISHED`, `AMBIT_TX_ABORTED` or `AMBIT_TX_IN_CALLBACK`: COMMIT or ROLLBACK is about to be sent,
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
   * @throws `TransactionError` `AMBIT_TX_FINISHED`, `AMBIT_TX_ABORTED` or `AMBIT_TX_IN_CALLBACK`: the transaction has been rolled back,
   *   or its outcome is unknown. After a commit, `fn` is called at once
   * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
   * @throws `TransactionError` `AMBIT_TX_OPTION`: an invalid option
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
   * @throws `TransactionError` `AMBIT_TX_FINISHED`, `AMBIT_TX_ABORTED` or `AMBIT_TX_IN_CALLBACK`: the transaction has completed
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
   * @throws `TransactionError` `AMBIT_TX_FINISHED`, `AMBIT_TX_ABORTED` or `AMBIT_TX_IN_CALLBACK`: the transaction has completed
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

  /** @internal For an ORM, which one nested run may open and all others use: no nested run undoes the callback, or refuses it. */
  onWhole(kind: CallbackKind, fn: (argument: never) => unknown): void {
    this.#register(kind, fn, true);
  }

  /** @internal */
  get callbacks(): Callbacks | undefined {
    return this.completion.callbacks;
  }

  /** @internal Calls them, now that the transaction is over. `onReleased` is called where its caller may go on. */
  protected runCallbacks(callbacks: Callbacks, onReleased: () => void): void {
    this.#running = callbacks.run(this.completion, this.settings, onReleased);
    disposeAfter(this.#running, this.parent);
  }

  /** @internal Resolves when all of them have run, where they have started. */
  protected callbacksDone(): Promise<void> | undefined {
    return this.#running;
  }

  #register(kind: CallbackKind, fn: (argument: never) => unknown, ofWhole = false): void {
    const { completion, nestedRuns } = this;
    checkFunction('The callback', fn, { required: true });
    if (nestedRuns.length > 0 && !ofWhole) refuseOutsider(nestedRuns, 'A callback was registered');
    if (!completion.accepts(kind)) throw completion.refusal();
    const isLate = completion.state === 'committed';
    const callbacks = isLate ? new Callbacks() : (completion.callbacks ??= new Callbacks());
    callbacks.add(kind, fn, ofWhole);
    if (isLate) this.runCallbacks(callbacks, () => undefined);
  }
}
