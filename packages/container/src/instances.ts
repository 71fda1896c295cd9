import { type Binding, bound } from './registration.js';
import type { Factory } from './contract.js';
import type { Key } from './keys.js';
import { isValue } from './places.js';
import { between, cycle, traced } from './problems.js';
import {
  descendants,
  refuseDisposed,
  Shape,
  type Resolver,
  type Scope,
  cells,
  indexOf,
  isMade,
  isWaiting,
  rare,
  type Kept,
  progress,
  BUSY,
  isMaking,
  type Disposal,
} from './shape.js';
import { instanceCreated, instanceDisposed } from './events.js';
import { setTimeout } from '#platform';
import { ContainerError, DisposeError, type Failure } from './errors.js';

/** Work given to `defer` is kept like an instance. Its key is for errors and events. */
export const DEFERRED: Binding = {
  key: Symbol('work given to defer()'),
  source: { kind: 'class', target: Object },
  onDispose: [{ layer: 0, act: (work, reason) => (work as (reason: unknown) => unknown)(reason) }],
};

type Disposer = (this: unknown, ...why: unknown[]) => unknown;

/** The object's own way to be disposed. */
function findDisposer(object: unknown): Disposer | undefined {
  if (object === null || (typeof object !== 'object' && typeof object !== 'function')) return undefined;
  const {
    [Symbol.asyncDispose]: later,
    [Symbol.dispose]: now,
    dispose: other,
  } = object as Record<symbol | string, unknown>;
  if (typeof later === 'function') return later as Disposer;
  if (typeof now === 'function') return now as Disposer;
  return typeof other === 'function' ? (other as Disposer) : undefined;
}

/** Whether it is a promise, also of another realm or a library. A query builder with a method `then()` is none: to await it would send its statement. */
export const isPromise = (object: unknown): object is PromiseLike<unknown> => isThenable(object, true);

function isThenable(object: unknown, orLess?: true): object is PromiseLike<unknown> {
  try {
    if (typeof (object as PromiseLike<unknown> | null | undefined)?.then !== 'function') return false;
    return !orLess || Object.prototype.toString.call(object) === '[object Promise]';
  } catch {
    return false;
  }
}

/** Whether the object has a disposer, or is a promise of something that may have one. */
function isDisposable(object: unknown): boolean {
  try {
    return findDisposer(object) !== undefined || isPromise(object);
  } catch {
    // A proxy that throws at every access has no disposer to call.
    return false;
  }
}

/** Notifies subscribers that an instance was made. */
export function announce(scope: Scope, { key }: Binding, since: number): void {
  instanceCreated.publish({ scope, key, milliseconds: performance.now() - since });
}

/** This singleton is resolved while it is being made. */
export function reentered(scope: Scope, { key }: Binding): never {
  throw cycle(key, scope.shape, undefined);
}

/** Keeps an instance to dispose or to start. */
export function keep(scope: Scope, binding: Binding, instance: unknown): void {
  // A class makes a new object, so nobody else can own it.
  if (binding.source.kind !== 'class') return keepLayers(scope, binding, [instance]);
  enter(scope, binding, instance, undefined, !binding.externallyOwned);
  // It was disposed while this was made; its disposal waits for that.
  if (scope.closed) refuseOver(scope, binding);
}

function enter(scope: Scope, binding: Binding, instance: unknown, layers: Kept['layers'], owned: boolean): Kept {
  const { onDispose } = binding;
  const before = scope.kept;
  return (scope.kept = { binding, instance, layers, before, owned: owned || onDispose !== undefined, started: 0 });
}

/** A scope that waits for those below it still makes what they need to be disposed. */
function refuseOver(scope: Scope, { key }: Binding): void {
  if (!isWaiting(scope)) refuseDisposed(scope, 'resolve', key);
}

/**
 * Keeps an instance with what decorators made of it. The scope disposes the outermost of these that has a disposer, unless it or a
 * scope around it owns that object already, or the registration is `externallyOwned()`.
 */
export function keepLayers(scope: Scope, binding: Binding, layers: readonly unknown[]): void {
  const { source, onDispose, onStart, externallyOwned } = binding;
  let outermost = layers.length - 1;
  while (outermost > 0 && !isDisposable(layers[outermost])) outermost--;
  const instance = layers[outermost];
  // A class makes a new object, and a value belongs to other code; a factory may return an object that a scope owns already.
  const made = outermost > 0 || source.kind !== 'value';
  const isNew = outermost === 0 && source.kind === 'class';
  const disposable = made && isDisposable(instance);
  const owned = disposable && !externallyOwned && (isNew || !isOwned(scope, instance));
  // What is externally owned is known as such to the scopes below, which may hand it on.
  if (owned || onDispose || onStart || (disposable && externallyOwned)) {
    const kept = enter(scope, binding, instance, layers, owned);
    if ((owned || externallyOwned) && !isNew && isPromise(instance)) settleLater(scope, kept, instance);
  }
  refuseOver(scope, binding);
}

/** Keeps an instance whose decorator threw: it is never started, but disposed as far as it was made. */
export function keepUnfinished(scope: Scope, binding: Binding, layers: readonly unknown[]): void {
  const { key, source, externallyOwned } = binding;
  const hooks = binding.onDispose?.filter(({ layer }) => layer < layers.length);
  keepLayers(scope, { key, source, externallyOwned, onDispose: hooks?.[0] && hooks }, layers);
}

/** A promise is replaced by its result, which is disposed; a rejected one is removed, so that the next `resolve` tries again. */
function settleLater(scope: Scope, kept: Kept, promise: PromiseLike<unknown>): void {
  const { key } = kept.binding;
  void promise.then(
    (instance) => {
      kept.owned &&= !isOwned(scope, instance);
      kept.instance = instance;
      scope.rare?.owned?.objects.add(instance);
      if (scope.rare?.rejected?.key === key) scope.rare.rejected = undefined;
    },
    (cause: unknown) => {
      kept.owned = false;
      kept.instance = undefined;
      rare(scope).rejected = { key, cause };
      forget(scope, key, promise);
      for (let newer = scope.kept; newer; newer = newer.before) if (newer.before === kept) newer.before = kept.before;
      if (scope.kept === kept) scope.kept = kept.before;
    },
  );
}

/** Empties the slot of the promise, and those of what has received it, so that all of them are made again. */
function forget(scope: Scope, key: Key, promise: unknown): void {
  // Thousands of open scopes may have one shape.
  const dependents = new Map<Shape, [Binding, number][]>();
  for (const at of [scope, ...descendants(scope)]) {
    const { shape } = at;
    const taken = () =>
      [...shape.slots.taken].filter(([one]) => one.key === key || between(shape, one.key, new Set([key])));
    if (!dependents.has(shape)) dependents.set(shape, taken());
    for (const [binding, slot] of dependents.get(shape) ?? []) {
      const held = cells(at, slot)[indexOf(slot)];
      if (held === promise || (binding.key !== key && isMade(at, slot) && !isPromise(held)))
        cells(at, slot)[indexOf(slot)] = undefined;
    }
  }
}

// So many entries are searched one by one; the rest of a longer list is indexed.
const FEW = 8;

/** Whether the scope or one around it disposes that very object, or received it from code that does. */
function isOwned(scope: Scope, object: unknown): boolean {
  if (isValue(scope.shape, object)) return true;
  for (let at: Scope | undefined = scope; at; at = at.parent)
    if (object === at || at.rare?.given?.has(object as object) || keeps(at, object)) return true;
  // A scope is disposed with the one around it; one of another library, whatever it looks like, is not.
  const { shape, parent } = (object ?? {}) as Partial<Scope>;
  return shape instanceof Shape && parent !== undefined;
}

function keeps(scope: Scope, object: unknown): boolean {
  let kept = scope.kept;
  for (let i = 0; i < FEW && kept; i++, kept = kept.before) if (kept.instance === object) return true;
  if (!kept) return false;
  const index = (rare(scope).owned ??= { objects: new Set<unknown>(), to: undefined });
  for (let one: Kept | undefined = kept; one && one !== index.to; one = one.before) index.objects.add(one.instance);
  index.to = kept;
  return index.objects.has(object);
}

/** Remembers objects of other code, which disposes them: if a factory that received one returns it, the scope does not own it. */
function noteGiven(scope: Scope, made: unknown): unknown {
  if (isDisposable(made)) (rare(scope).given ??= new WeakSet()).add(made as object);
  return made;
}

/** Makes transients that are externally owned. */
export const givenBy =
  (make: Resolver): Resolver =>
  (scope) =>
    noteGiven(scope, make(scope));

/** Whether the scope has an instance that is not disposed. */
export function isThere(scope: Scope, binding: Binding): boolean {
  const slot = scope.shape.slots.taken.get(binding);
  if (slot === undefined || !isMade(scope, slot)) return false;
  for (let kept = scope.kept; kept; kept = kept.before) if (kept.binding === binding) return true;
  return !isDisposable(cells(scope, slot)[indexOf(slot)]);
}

/** Resolves what was registered directly: the value, or what the factory returns for the scope it was registered on. */
function giveRegistered(scope: Scope, { source }: Binding): unknown {
  const made = source.kind === 'value' ? source.value : (source as { factory: Factory }).factory(scope);
  return progress.running?.before ? noteGiven(scope, made) : made;
}

/** Resolves such a binding: of a shape that scopes share, each scope has its own factory. */
export function registered(binding: Binding): Resolver {
  const { key, source } = binding;
  const isOfOneScope = source.kind === 'register' && source.factory !== undefined;
  return (scope) => giveRegistered(scope, isOfOneScope ? binding : (scope.rare?.registered?.get(key) as Binding));
}

/** Adds registrations to a scope. */
export function add(scope: Scope, bindings: readonly Binding[]): void {
  const keys = bindings.map(({ key }) => key);
  if (!scope.shape.exclusive) {
    if (new Set(keys).size === keys.length && bindings.every((binding) => isNewValue(scope, binding))) {
      for (const binding of bindings) addDirectly(scope, binding);
      return;
    }
    takeOwnShape(scope);
  }
  change(scope, keys, () => scope.shape.add(bindings));
}

/** A plain value under a key of its own is like a factory registered directly. */
function isNewValue(scope: Scope, { key, source, when, decorators, override }: Binding): boolean {
  return source.kind === 'value' && !when && !decorators && !override && !scope.rare?.registered?.has(key);
}

/** Registers a factory directly on the scope. */
export function register(scope: Scope, key: Key, factory: Factory): void {
  const { shape } = scope;
  const last = shape.exclusive ? shape.bindings.get(key)?.at(-1) : scope.rare?.registered?.get(key);
  const binding: Binding = { key, source: { kind: 'register', factory } };
  if (last?.source.kind === 'register') last.source.factory = factory;
  else if (shape.exclusive || last) add(scope, [binding]);
  else addDirectly(scope, binding);
}

/** Adds to this scope alone; the shape, which it shares with others, changes only where something may depend on the key. */
function addDirectly(scope: Scope, binding: Binding): void {
  const { key } = binding;
  (rare(scope).registered ??= new Map<Key, Binding>()).set(key, binding);
  if (scope.shape.knows(key) || (scope.newest && descendants(scope).some(({ shape }) => shape.bindings.has(key))))
    move(scope, scope.shape.withRegistered(key));
}

function takeOwnShape(scope: Scope): void {
  const direct = scope.rare?.registered ?? new Map<Key, Binding>();
  for (const key of direct.keys()) settle(scope, key);
  const own = scope.shape.copy(scope.shape.parent, true);
  // Copies, as one registration may be added to several scopes.
  for (const [key, binding] of direct) own.bindings.set(key, [bound(binding, key)]);
  move(scope, own);
}

/** Removes registrations from a scope with a shape of its own. */
export function remove(scope: Scope, obsolete: readonly Binding[]): void {
  change(
    scope,
    obsolete.map(({ key }) => key),
    () => {
      const { bindings, slots } = scope.shape;
      scope.shape.values = undefined;
      for (const binding of obsolete) {
        const others = bindings.get(binding.key)?.filter((one) => one !== binding) ?? [];
        if (others[0]) bindings.set(binding.key, others);
        else bindings.delete(binding.key);
        const slot = slots.taken.get(binding);
        // No other scope uses the slot. Its instance may be in the making.
        if (binding.when || slot === undefined || cells(scope, slot)[indexOf(slot)] === BUSY) continue;
        cells(scope, slot)[indexOf(slot)] = undefined;
        slots.taken.delete(binding);
        slots.free.push(slot);
      }
    },
  );
}

/** Changes the shape of this scope only; resolvers that may depend on the keys are compiled again. */
function change(scope: Scope, keys: readonly Key[], act: () => void): void {
  for (const key of keys) settle(scope, key);
  const below = scope.newest ? descendants(scope) : [];
  const matters = keys.some((key) => scope.shape.knows(key) || below.some(({ shape }) => shape.bindings.has(key)));
  act();
  if (matters) for (const { shape } of [scope, ...below]) shape.reset();
}

/** A service depends on the key from now on: the shapes of scopes that have registered it directly must name it. */
export function askFor(scope: Scope, key: Key): void {
  const { asked } = scope.shape.plans;
  if (asked.has(key)) return;
  asked.add(key);
  let root = scope;
  while (root.parent) root = root.parent;
  settle(root, key);
}

/** Lets the shapes of all scopes above and below that have registered the key directly name it. */
function settle(scope: Scope, key: Key): void {
  const has = ({ rare: own }: Scope) => own?.registered?.has(key) === true;
  let top = scope;
  for (let at = scope.parent; at; at = at.parent) if (has(at)) top = at;
  if (!top.newest && !has(top)) return;
  for (const at of [top, ...descendants(top)])
    if (has(at) && !at.shape.bindings.has(key)) move(at, at.shape.withRegistered(key));
}

/** Lets the shapes of this scope and those above name all keys that were registered directly. */
export function settleAll(scope: Scope): void {
  for (let at: Scope | undefined = scope; at; at = at.parent)
    for (const key of at.rare?.registered?.keys() ?? []) settle(at, key);
}

/** How to resolve a key that no shape names: what was registered directly on the scope and above, the nearest first. */
export function directly(scope: Scope, key: Key): Resolver[] {
  const all: Resolver[] = [];
  if (scope.shape.knows(key)) return all;
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    const owner = at;
    const binding = at.rare?.registered?.get(key);
    if (binding) all.push(traced(owner.shape, key, () => giveRegistered(owner, binding)));
  }
  return all;
}

/** Gives the scope another shape, and the scopes below it the shapes that follow from that. */
function move(scope: Scope, shape: Shape): void {
  const moved = new Map([[scope.shape, shape]]);
  scope.shape = shape;
  if (!scope.newest) return;
  for (const below of descendants(scope)) {
    let follower = moved.get(below.shape);
    if (!follower) moved.set(below.shape, (follower = below.shape.below((below.parent as Scope).shape)));
    below.shape = follower;
  }
}

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

type DisposalHook = (object: unknown, reason?: unknown) => unknown;

/** Calls a callback of the registration, or the object's own disposer. Where nothing failed, they get no reason, not even undefined. */
function callDisposer({ binding, instance, layers }: Kept, i: number, reason: unknown): unknown {
  const hook = binding.onDispose?.[i];
  if (hook) {
    const act = hook.act as DisposalHook;
    const layer = layers ? layers[hook.layer] : instance;
    return reason === undefined ? act(layer) : act(layer, reason);
  }
  const disposer = findDisposer(instance);
  return reason === undefined ? disposer?.call(instance) : disposer?.call(instance, reason);
}
