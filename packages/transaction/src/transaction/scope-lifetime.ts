import type { IContainer } from '@ambit/container';
import { type Failure, settleWithin } from '../core/clock.js';
import { report, TransactionError } from '../core/errors.js';
import type { Settings } from '../core/options.js';

type Callback = () => Promise<void> | undefined;

/** What a foreign scope waits for before it is disposed. */
const CALLBACKS = Symbol('ambit.beforeDispose');

interface WatchedScope extends IContainer {
  [CALLBACKS]?: Set<Callback>;
}

/**
 * Makes `fn` part of the disposal of a scope of another container, no matter who disposes it, until the function returned
 * is called. Such a scope has no `defer()`, so its `dispose` is replaced. That misses only a disposal that a scope further
 * out brings about by other means.
 */
function beforeDispose(scope: IContainer, fn: Callback): () => void {
  const watched: WatchedScope = scope;
  const callbacks = (watched[CALLBACKS] ??= replaceDispose(scope));
  callbacks.add(fn);
  return () => void callbacks.delete(fn);
}

function replaceDispose(scope: IContainer): Set<Callback> {
  const callbacks = new Set<Callback>();
  const dispose = scope.dispose.bind(scope);
  let disposing: Promise<void> | undefined;
  scope.dispose = () => {
    if (disposing || callbacks.size === 0) return disposing ?? dispose();
    disposing = (async () => {
      const started = [...callbacks].map((fn) => fn());
      for (const callback of started) await callback;
      await dispose();
    })();
    return disposing;
  };
  return callbacks;
}

/** The scope of a transaction: disposed once, by the transaction or by somebody else, who then waits for the rollback. */
export class ScopeLifetime {
  readonly #parent: IContainer;
  readonly #scope: IContainer;
  readonly #rollback: (reason: Error) => Promise<void>;
  /** Somebody disposes the scope already: to wait for its disposal from within would be to wait for ourselves. */
  #isDisposed = false;
  #forgetParent: (() => void) | undefined = undefined;

  constructor(parent: IContainer, scope: IContainer, rollback: (reason: Error) => Promise<void>) {
    this.#parent = parent;
    this.#scope = scope;
    this.#rollback = rollback;
  }

  /** Rolls the transaction back when somebody else disposes the scope. */
  watch(): void {
    const onDispose = (): Promise<void> | undefined => {
      if (this.#isDisposed) return undefined;
      this.#isDisposed = true;
      return this.#rollBack();
    };
    if (this.#scope.defer) return void this.#scope.defer(onDispose);
    beforeDispose(this.#scope, onDispose);
    // A foreign scope may dispose its children before ROLLBACK, and past our hook.
    this.#forgetParent = beforeDispose(this.#parent, () => this.#rollBack());
  }

  /** Disposes the scope with the reason of a rollback. Calls `onDisposed` once: when the scope is disposed, or at once where somebody else disposes it. */
  dispose(settings: Settings, reason: unknown, onDisposed: () => void): void {
    if (this.#isDisposed) return onDisposed();
    this.#isDisposed = true;
    const settle = (failure?: Failure): void => {
      if (failure) report(settings, disposalFailed(failure.error));
      onDisposed();
    };
    try {
      const disposing = this.#scope.dispose(reason);
      const { clock, endTimeoutMs } = settings;
      if (disposing) settleWithin(clock, endTimeoutMs, disposing, () => new Error('it took too long'), settle);
      else settle();
    } catch (error) {
      settle({ error });
    }
  }

  /** The transaction has completed. */
  forget(): void {
    this.#forgetParent?.();
  }

  #rollBack(): Promise<void> {
    return this.#rollback(new Error('The scope of the transaction was disposed'));
  }
}

function disposalFailed(cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_SCOPE_FAILED', 'dispose() of the transaction scope failed', { cause });
}

/** By scope, because a scope may outlive millions of transactions and can only ever be given cleanup callbacks. */
const unfinished = new WeakMap<IContainer, Set<Promise<void>>>();

/** Makes the disposal of `scope` wait for work that is in progress. `work` never rejects. */
export function disposeAfter(work: Promise<void>, scope: IContainer): void {
  const all = unfinished.get(scope) ?? watch(scope);
  all.add(work);
  void work.then(() => all.delete(work));
}

function watch(scope: IContainer): Set<Promise<void>> {
  const all = new Set<Promise<void>>();
  const finish = async (): Promise<void> => {
    for (const work of all) await work;
  };
  unfinished.set(scope, all);
  try {
    if (scope.defer) scope.defer(finish);
    else beforeDispose(scope, finish);
  } catch {
    // It is disposed already, and nothing can make it wait.
  }
  return all;
}
