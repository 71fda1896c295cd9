import { setTimeout } from '#platform';
import { ContainerError, DisposeError, type Failure } from './errors.js';
import { findDisposer, isPromise, isThenable } from './keeping.js';
import { descendants } from './scope.js';
import type { Scope } from './shape.js';
import { instanceDisposed } from './events.js';
import { isMaking, type Disposal, type Kept } from './state.js';
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

// How long a disposal waits for what is still being made or started: what hangs must not keep the process alive.
const LIMIT_MS = 5000;

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
  let limit: Limit | undefined;
  if (scope.rare?.starting) {
    const { promise, key } = scope.rare.starting;
    if (await isLate((limit = limited()), promise)) failures = [failureOf(scope, key, late(key, 'onStart'))];
  }
  for (let kept = scope.kept; kept; kept = scope.kept) {
    scope.kept = kept.before;
    const { key, onDispose } = kept.binding;
    let failure: Failure | undefined;
    for (let i = 0; i < (onDispose?.length ?? Number(kept.owned)); i++)
      try {
        const { instance } = kept;
        // An async factory is running.
        if (isPromise(instance) && (await isLate((limit ??= limited()), instance))) {
          const made = kept;
          // By then nobody waits for a failure.
          void instance.then(() => callDisposer(made, i, reason)).then(no, no);
          throw late(key, 'factory');
        }
        const disposing = callDisposer(kept, i, reason);
        if (isThenable(disposing)) await disposing;
      } catch (error) {
        failure = failureOf(scope, key, error);
        (failures ??= []).push(failure);
      }
    if (instanceDisposed.hasSubscribers)
      instanceDisposed.publish({ scope, key, ...(failure && { error: failure.error }) });
  }
  if (limit) clearTimeout(limit.timer as number);
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

/** One limit for all that a scope waits for. */
interface Limit {
  readonly over: Promise<true>;
  readonly timer: unknown;
}

function limited(): Limit {
  let timer;
  const over = new Promise<true>((resolve) => (timer = setTimeout(resolve, LIMIT_MS, true)));
  return { over, timer };
}

const no = () => false;
const isLate = (limit: Limit, work: PromiseLike<unknown>): Promise<boolean> =>
  Promise.race([work.then(no, no), limit.over]);

const late = (key: Failure['key'], what: string): ContainerError =>
  new ContainerError('AMBIT_START_FAILED', { key, hint: `its ${what} was still running after ${LIMIT_MS} ms` });

type Disposer = (object: unknown, reason?: unknown) => unknown;

/** Calls a callback of the registration, or the object's own disposer. Where nothing failed, they get no reason, not even undefined. */
function callDisposer({ binding, instance, layers }: Kept, i: number, reason: unknown): unknown {
  const hook = binding.onDispose?.[i];
  if (hook) {
    const act = hook.act as Disposer;
    const layer = layers ? layers[hook.layer] : instance;
    return reason === undefined ? act(layer) : act(layer, reason);
  }
  const disposer = findDisposer(instance);
  return reason === undefined ? disposer?.call(instance) : disposer?.call(instance, reason);
}
