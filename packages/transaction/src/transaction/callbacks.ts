import { AsyncResource } from 'node:async_hooks';
import { settleWithin } from '../clock.js';
import { report, TransactionError } from '../errors.js';
import type { TransactionOptions } from '../options.js';
import { savepointIn } from '../sql/control-statements.js';
import type { TransactionSettings } from './settings.js';

type CallSettings = Required<Pick<TransactionOptions, 'clock' | 'endTimeoutMs' | 'onError'>>;

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

/**
 * When a callback of a transaction is called. Each is the method of `Transaction` with this name; `beforeResponse` is an
 * `afterCommit()` that `commit()` waits for.
 */
export type CallbackKind = 'beforeCommit' | 'beforeResponse' | 'afterCommit' | 'afterRollback' | 'afterEnd';

interface Callback {
  readonly kind: CallbackKind;
  readonly fn: (argument?: unknown) => unknown;
  /** It belongs to the whole transaction, wherever it was registered. */
  readonly ofWhole: boolean;
  isUndone: boolean;
  reason: unknown;
}

type Step = () => Promise<void> | undefined | void;

interface Completed {
  readonly state: string;
  readonly reason: unknown;
}

/** The callbacks of one transaction, in the order in which they were registered. */
export class Callbacks {
  readonly #callbacks: Callback[] = [];
  /** The savepoints since the first callback: earlier ones were set before all callbacks. */
  readonly #savepoints: { readonly name: string; readonly callbacks: number }[] = [];
  #prepared = 0;
  #isRunning = false;

  /** The transaction has completed, and its callbacks are being called. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** True if something is left to do before COMMIT. */
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
  async run(completed: Completed, settings: TransactionSettings, onReleased: () => void): Promise<void> {
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
  /** True if `commit()`, and with it the response of a host, waits for the callback. It still cannot make either fail. */
  readonly before?: 'response';
}
