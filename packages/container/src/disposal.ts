import { setTimeout } from '#platform';
import { ContainerError, DisposeError, type Failure } from './errors.js';
import { findDisposer, isPromise } from './keeping.js';
import { descendants } from './scope.js';
import type { Scope } from './shape.js';
import { instanceDisposed } from './events.js';
import { isMaking, type Disposal, type Kept, type Starting } from './state.js';
import { progress } from './tracing.js';

/** Shared by all scopes that have nothing to dispose. */
export const NOTHING_TO_DISPOSE: Promise<void> = Promise.resolve();

function disposalOf(scope: Scope): Disposal {
  if (scope.disposal && !(scope.disposal instanceof Promise)) return scope.disposal;
  const promise = scope.disposal;
  return (scope.disposal = {
    promise,
    settle: undefined,
    done: false,
    pending: 0,
    failures: [],
    below: [],
    reason: undefined,
  });
}

// How long a disposal waits for an `onStart` callback that is running.
const START_LIMIT_MS = 5000;

/** Disposes the scopes below, then the scope's own instances; every one is tried, and the failures come together. */
export function dispose(scope: Scope, reason: unknown): Promise<void> {
  scope.closed = 1;
  if (!scope.newest) {
    const own = disposeOwn(scope, reason, true);
    // A disposer may have asked for the promise before there was one.
    scope.disposal ??= own;
    return promiseOf(scope);
  }
  const promise = promiseOf(scope);
  const all = descendants(scope);
  const starting = [scope, ...all.filter(({ closed }) => !closed)];
  // From now on this scope and all below it refuse every use.
  for (const one of all) one.closed ||= 1;
  for (const one of starting) {
    const disposal = disposalOf(one);
    for (let child = one.newest; child; child = child.older) disposal.below.push(disposalOf(child));
    disposal.pending = disposal.below.length;
    disposal.reason = reason;
  }
  for (const one of starting) if (disposalOf(one).pending === 0 && !disposalOf(one).done) disposeUpward(one);
  return promise;
}

/** The promise of a disposal in progress or done; an instance may ask for it while it is disposed. */
export function promiseOf(scope: Scope): Promise<void> {
  if (scope.disposal instanceof Promise) return scope.disposal;
  const disposal = disposalOf(scope);
  return (disposal.promise ??= new Promise((resolve, reject) => {
    disposal.settle = (failures) => (failures[0] ? reject(new DisposeError(failures)) : resolve());
    if (disposal.done) disposal.settle(allFailures(disposal));
  }));
}

/** Disposes what the scope made, and the scopes around it for which it was the last to wait for. A loop, as scopes may nest deeper than calls. */
function disposeUpward(first: Scope | undefined): void {
  for (let scope = first; scope; scope = nextAbove(scope)) {
    const disposing = scope;
    const own = disposeOwn(disposing, disposalOf(disposing).reason);
    if (!disposalOf(disposing).done) {
      void own.then(() => disposeUpward(nextAbove(disposing)));
      return;
    }
  }
}

function nextAbove({ parent }: Scope): Scope | undefined {
  return parent?.closed && --disposalOf(parent).pending === 0 ? parent : undefined;
}

/** Awaits only where there is something to wait for: what is disposed at once has been disposed when `dispose()` returns. */
async function disposeOwn(scope: Scope, reason: unknown, isAlone = false): Promise<void> {
  let failures: Failure[] | undefined;
  // A constructor that disposes its own scope gets its instance disposed as well.
  if (progress.resolving > 0 && isMaking(scope)) await Promise.resolve();
  if (scope.rare?.starting) failures = await startedOrLate(scope, scope.rare.starting);
  for (let kept = scope.kept; kept; kept = scope.kept) {
    scope.kept = kept.before;
    const { key, onDispose } = kept.binding;
    let failure: Failure | undefined;
    for (let i = 0; i < (onDispose?.length ?? Number(kept.owned)); i++)
      try {
        const hook = onDispose?.[i];
        const disposing = hook
          ? callHook(hook.act as Act, layerOf(kept, hook.layer), reason)
          : disposeObject(kept, reason);
        if (isPromise(disposing)) await disposing;
      } catch (error) {
        failure = failureOf(scope, key, error);
        (failures ??= []).push(failure);
      }
    if (instanceDisposed.hasSubscribers)
      instanceDisposed.publish({ scope, key, ...(failure && { error: failure.error }) });
  }
  scope.leave();
  const { disposal } = scope;
  if (disposal && !(disposal instanceof Promise)) {
    disposal.done = true;
    disposal.failures = failures ?? [];
    disposal.settle?.(allFailures(disposal));
    if (isAlone) disposeUpward(nextAbove(scope));
    if (!isAlone || disposal.settle) return;
  }
  if (failures) throw new DisposeError(failures);
}

function failureOf({ shape }: Scope, key: Failure['key'], error: unknown): Failure {
  return {
    key,
    error,
    // Computed on demand, because thousands of nested scopes may fail together.
    get tags() {
      return shape.lineage;
    },
  };
}

/** What failed here and below, in the order in which it was disposed. */
function allFailures(disposal: Disposal): Failure[] {
  const failures: Failure[] = [];
  const open: (Disposal | readonly Failure[])[] = [disposal];
  for (let last = open.pop(); last; last = open.pop())
    if ('below' in last) {
      open.push(last.failures);
      for (let i = last.below.length - 1; i >= 0; i--) open.push(last.below[i] as Disposal);
    } else for (const failure of last) failures.push(failure);
  return failures;
}

/** Waits for the `onStart` callback that is running, but not without a limit: one that hangs must not keep the process alive. */
async function startedOrLate(scope: Scope, { promise, key }: Starting): Promise<Failure[] | undefined> {
  let timer;
  const late = new Promise<true>((resolve) => (timer = setTimeout(resolve, START_LIMIT_MS, true)));
  const settled = promise.then(
    () => false,
    () => false,
  );
  const isLate = await Promise.race([settled, late]);
  clearTimeout(timer);
  const hint = `its onStart was still running after ${START_LIMIT_MS} ms`;
  return isLate ? [failureOf(scope, key, new ContainerError('AMBIT_START_FAILED', { key, hint }))] : undefined;
}

const layerOf = ({ layers, instance }: Kept, layer: number): unknown => (layers ? layers[layer] : instance);

type Act = (layer: unknown, reason?: unknown) => unknown;

/** Where nothing failed, callbacks and disposers get no reason, not even undefined. */
const callHook = (act: Act, layer: unknown, reason: unknown): unknown =>
  reason === undefined ? act(layer) : act(layer, reason);

/** Calls the object's own disposer. A wrapper has to dispose what it wraps. */
function disposeObject({ instance }: Kept, reason: unknown): unknown {
  const disposed = (made: unknown): unknown => {
    const disposer = findDisposer(made);
    return reason === undefined ? disposer?.call(made) : disposer?.call(made, reason);
  };
  return isPromise(instance) ? instance.then(disposed, () => undefined) : disposed(instance);
}
