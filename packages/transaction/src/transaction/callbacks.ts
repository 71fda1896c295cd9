import { AsyncResource } from 'node:async_hooks';
import type { IContainer } from '@ambit/container';
import { type Failure, settleWithin } from '../core/clock.js';
import { asCoded, report, TransactionError } from '../core/errors.js';
import { checkFunction, checkOneOf, type Settings } from '../core/options.js';
import { savepointIn } from '../sql/control-statements.js';
import type { Completion, TransactionOutcome } from './completion.js';
import { type NestedRun, refuseOutsider } from './nested-runs.js';
import { disposeAfter } from './scope-lifetime.js';
import type { Milestone } from './transaction.js';

/** What a call needs of the settings of a transaction. */
type CallSettings = Pick<Settings, 'clock' | 'endTimeoutMs' | 'onError'>;

/**
 * Calls a callback whose failure changes no outcome, so it is reported and never thrown.
 *
 * @returns a promise that never rejects, where there is something to wait for: until the callback has settled, or its
 *   time is up
 */
export function callAndReport(call: () => unknown, settings: CallSettings): Promise<void> | undefined {
  const { clock, endTimeoutMs } = settings;
  const fail = (cause: unknown): void =>
    report(
      settings,
      new TransactionError('AMBIT_TX_CALLBACK_FAILED', 'A callback of the transaction failed', { cause }),
    );
  try {
    const result = call();
    if (!isThenable(result)) return undefined;
    return new Promise((resolve) => {
      const late = (): Error => new Error(`It has not settled within ${endTimeoutMs} ms`);
      settleWithin(clock, endTimeoutMs, result, late, (failure) => {
        if (failure) fail(failure.error);
        resolve();
      });
    });
  } catch (error) {
    fail(error);
    return undefined;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}

export type CallbackKind = 'beforeCommit' | 'beforeResponse' | 'afterCommit' | 'afterRollback' | 'afterEnd';

interface Callback {
  readonly kind: CallbackKind;
  readonly fn: (argument?: unknown) => unknown;
  /** It belongs to the whole transaction, wherever it was registered. */
  readonly ofWhole: boolean;
  /** A savepoint around it was undone. */
  isUndone: boolean;
  /** Why. */
  reason: unknown;
}

type Step = () => Promise<void> | undefined | void;

/** A transaction whose outcome is decided. */
interface Completed {
  readonly state: string;
  /** Why it was rolled back. */
  readonly reason: unknown;
}

/** The callbacks of one transaction, in the order in which they were registered. */
export class Callbacks {
  readonly #callbacks: Callback[] = [];
  /** Those set since the first callback: what was set earlier was set before all callbacks. */
  readonly #savepoints: { readonly name: string; readonly callbacks: number }[] = [];
  #prepared = 0;
  #isRunning = false;

  /** The transaction has completed, and its callbacks are being called. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether something is left to do before COMMIT. */
  get prepares(): boolean {
    return this.#callbacks.some(({ kind, isUndone }) => kind === 'beforeCommit' && !isUndone);
  }

  add(kind: CallbackKind, fn: (argument: never) => unknown, ofWhole = false): void {
    // In the async context of the code that registered it, so that its log lines name the request.
    this.#callbacks.push({
      kind,
      fn: AsyncResource.bind(fn as Callback['fn']),
      ofWhole,
      isUndone: false,
      reason: undefined,
    });
  }

  /** Calls the `beforeCommit` callbacks, also those that they register, until one fails or `isCancelled()`. */
  async prepare(isCancelled: () => boolean): Promise<void> {
    for (; this.#prepared < this.#callbacks.length && !isCancelled(); this.#prepared += 1) {
      const callback = this.#callbacks[this.#prepared];
      if (callback?.kind === 'beforeCommit' && !callback.isUndone) await callback.fn();
    }
  }

  /** Called after every successful statement: `ROLLBACK TO` undoes what was registered since its savepoint. */
  follow(sql: string): void {
    const statement = savepointIn(sql);
    if (!statement) return;
    const { does, name } = statement;
    if (does === 'set') return void this.#savepoints.push({ name, callbacks: this.#callbacks.length });
    const index = this.#savepoints.findLastIndex((savepoint) => savepoint.name === name);
    if (does === 'undo') this.#undoSince(this.#savepoints[index]?.callbacks ?? 0);
    // ROLLBACK TO keeps the savepoint itself, RELEASE does not.
    this.#savepoints.length = Math.max(0, does === 'undo' ? index + 1 : index);
  }

  /** Why a nested run was undone, for its callbacks. */
  undoneBecause(reason: unknown): void {
    for (const callback of this.#callbacks) if (callback.isUndone) callback.reason ??= reason;
  }

  /**
   * Calls every callback that fits the outcome of the work around it, one after the other. `onReleased` is called where the
   * caller of `commit()` or `rollback()` may go on: after COMMIT that is before most callbacks. Never rejects.
   */
  async run(completed: Completed, settings: Settings, onReleased: () => void): Promise<void> {
    const stepsOf = (...kinds: CallbackKind[]): Step[] =>
      this.#callbacks
        .filter((callback) => kinds.includes(callback.kind) && fits(callback, completed))
        .map((callback) => () => callAndReport(() => callback.fn(argumentOf(callback, completed)), settings));
    const rest = [...stepsOf('afterCommit', 'afterRollback'), ...stepsOf('afterEnd')];
    const isCommitted = completed.state === 'committed';
    this.#isRunning = true;
    for (const step of isCommitted ? [...stepsOf('beforeResponse'), onReleased, ...rest] : [...rest, onReleased]) {
      const settled = step();
      // Only promises are awaited: callbacks that are not async have all been called when `commit()` resolves.
      if (settled) await settled;
    }
    this.#isRunning = false;
  }

  #undoSince(first: number): void {
    for (const callback of this.#callbacks.slice(first)) callback.isUndone = !callback.ofWhole;
  }
}

function outcomeOf({ isUndone }: Callback, { state }: Completed): string {
  return isUndone ? 'rolled back' : state;
}

function fits(callback: Callback, completed: Completed): boolean {
  if (callback.kind === 'afterEnd') return true;
  return outcomeOf(callback, completed) === (callback.kind === 'afterRollback' ? 'rolled back' : 'committed');
}

function argumentOf(callback: Callback, completed: Completed): unknown {
  if (callback.kind === 'afterEnd') return outcomeOf(callback, completed);
  if (callback.kind !== 'afterRollback') return undefined;
  return callback.isUndone ? (callback.reason ?? savepointUndone()) : completed.reason;
}

/** The code that has undone it gave no reason. */
function savepointUndone(): TransactionError {
  return new TransactionError('AMBIT_TX_FINISHED', 'The savepoint around the callback was undone');
}

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

type Settle = (failure?: Failure) => void;

/** What is called with the result of BEGIN in place of `settle`, where the pool has a function that is part of BEGIN. */
export function thenCall(afterBegin: () => unknown, completed: Milestone, settle: Settle): Settle {
  return (failure) => {
    if (failure) settle(failure);
    else callAfterBegin(afterBegin, completed, settle);
  };
}

/**
 * Calls `settle` once: when the function has settled, or when the transaction has completed before that, since a function
 * that waits for something else than the connection does not notice a rollback.
 */
function callAfterBegin(afterBegin: () => unknown, completed: Milestone, settle: Settle): void {
  let isSettled = false;
  const settleOnce: Settle = (failure) => {
    if (isSettled) return;
    isSettled = true;
    settle(failure);
  };
  void completed.reached().then(() => settleOnce());
  (async () => afterBegin())().then(
    () => settleOnce(),
    (error: unknown) =>
      settleOnce({ error: asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'afterBegin() of the pool failed') }),
  );
}
