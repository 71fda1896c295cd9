import type { IContainer } from '@ambit/container';

type Callback = (reason?: unknown) => Promise<void> | undefined;

/** The callbacks around the disposal of a foreign scope: `before` with its reason, and waited for; `after` when it is done or has failed. */
interface Watcher {
  readonly before?: Callback;
  readonly after?: () => void;
}

const WATCHERS = Symbol('ambit.watchers');

/** Work that its disposal waits for: a scope may outlive millions of transactions, and can only ever be given cleanup callbacks. */
const UNFINISHED = Symbol('ambit.unfinished');

interface WatchedScope extends IContainer {
  [WATCHERS]?: Set<Watcher>;
  [UNFINISHED]?: Set<Promise<void>>;
}

/**
 * Makes `fn` part of the disposal of a scope of another container, no matter who disposes it, until the function returned
 * is called. Such a scope has no `defer()`, so its `dispose` is replaced. That misses only a disposal that a scope further
 * out brings about by other means.
 */
export function beforeDispose(scope: IContainer, fn: Callback): () => void {
  return watchDisposal(scope, { before: fn });
}

function watchDisposal(scope: WatchedScope, watcher: Watcher): () => void {
  const watchers = (scope[WATCHERS] ??= replaceDispose(scope));
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function replaceDispose(scope: IContainer): Set<Watcher> {
  const watchers = new Set<Watcher>();
  const dispose = scope.dispose.bind(scope);
  let disposing: Promise<void> | undefined;
  scope.dispose = (reason) => {
    if (disposing || watchers.size === 0) return disposing ?? dispose(reason);
    disposing = (async () => {
      const started = [...watchers].map(({ before }) => before?.(reason));
      for (const callback of started) await callback;
      try {
        await dispose(reason);
      } finally {
        for (const { after } of watchers) after?.();
      }
    })();
    return disposing;
  };
  return watchers;
}

/** Calls `fn` when the scope is disposed: after everything that is made in it later, since `defer()` runs the newest callback first. */
export function whenDisposed(scope: IContainer, fn: () => void): void {
  if (scope.defer) scope.defer(fn);
  else watchDisposal(scope, { after: fn });
}

/**
 * Calls `fn` when a scope is disposed, also a scope of a container without `defer()`.
 *
 * @param scope - a scope that is open
 * @param fn - what is called; the disposal waits for what it returns
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
