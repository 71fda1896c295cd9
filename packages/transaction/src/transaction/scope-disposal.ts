import type { IContainer } from '@ambit/container';

type Callback = (reason?: unknown) => Promise<void> | undefined;

/** The callbacks that a foreign scope waits for before it is disposed. */
const CALLBACKS = Symbol('ambit.beforeDispose');

/** Work that its disposal waits for: a scope may outlive millions of transactions, and can only ever be given cleanup callbacks. */
const UNFINISHED = Symbol('ambit.unfinished');

interface WatchedScope extends IContainer {
  [CALLBACKS]?: Set<Callback>;
  [UNFINISHED]?: Set<Promise<void>>;
}

/**
 * Makes `fn` part of the disposal of a scope of another container, no matter who disposes it, until the function returned
 * is called. Such a scope has no `defer()`, so its `dispose` is replaced. That misses only a disposal that a scope further
 * out brings about by other means.
 */
export function beforeDispose(scope: IContainer, fn: Callback): () => void {
  const watched: WatchedScope = scope;
  const callbacks = (watched[CALLBACKS] ??= replaceDispose(scope));
  callbacks.add(fn);
  return () => void callbacks.delete(fn);
}

function replaceDispose(scope: IContainer): Set<Callback> {
  const callbacks = new Set<Callback>();
  const dispose = scope.dispose.bind(scope);
  let disposing: Promise<void> | undefined;
  scope.dispose = (reason) => {
    if (disposing || callbacks.size === 0) return disposing ?? dispose(reason);
    disposing = (async () => {
      const started = [...callbacks].map((fn) => fn(reason));
      for (const callback of started) await callback;
      await dispose(reason);
    })();
    return disposing;
  };
  return callbacks;
}

/**
 * Calls `fn` when a scope is disposed, also a scope of a container without `defer()`.
 *
 * @param scope - a scope that is open
 * @param fn - what is called; the disposal waits for what it returns
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { deferOn } from '@ambit/transaction/extension';
 *
 * function lockUntilDisposed(scope: IContainer, keys: Set<string>, key: string): void {
 *   deferOn(scope, () => void keys.delete(key));
 *   keys.add(key);
 * }
 * ```
 */
export function deferOn(scope: IContainer, fn: () => Promise<void> | undefined): void {
  if (scope.defer) scope.defer(fn);
  else beforeDispose(scope, fn);
}

/** Makes the disposal of `scope` wait for work that is in progress. `work` never rejects. */
export function disposeAfter(work: Promise<void>, scope: IContainer): void {
  const watched: WatchedScope = scope;
  const all = (watched[UNFINISHED] ??= watch(scope));
  all.add(work);
  void work.then(() => all.delete(work));
}

function watch(scope: IContainer): Set<Promise<void>> {
  const all = new Set<Promise<void>>();
  const finish = async (): Promise<void> => {
    for (const work of all) await work;
  };
  try {
    deferOn(scope, finish);
  } catch {
    // It is disposed already, and nothing can make it wait.
  }
  return all;
}
