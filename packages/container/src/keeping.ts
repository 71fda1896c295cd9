import type { Binding } from './binding.js';
import type { Factory } from './contract.js';
import type { Key } from './keys.js';
import { isValue } from './places.js';
import { between, cycle } from './problems.js';
import { descendants, refuseDisposed } from './scope.js';
import { Shape, type Resolver, type Scope } from './shape.js';
import { instanceCreated } from './events.js';
import { cells, indexOf, isMade, isWaiting, rare, type Kept } from './state.js';
import { progress } from './tracing.js';

/** Work given to `defer` is kept like an instance. Its key is for errors and events. */
export const DEFERRED: Binding = {
  key: Symbol('work given to defer()'),
  source: { kind: 'class', target: Object },
  onDispose: [{ layer: 0, act: (work, reason) => (work as (reason: unknown) => unknown)(reason) }],
};

type Disposer = (this: unknown, ...why: unknown[]) => unknown;

/** The object's own way to be disposed. */
export function findDisposer(object: unknown): Disposer | undefined {
  if (object === null || (typeof object !== 'object' && typeof object !== 'function')) return undefined;
  const { [Symbol.asyncDispose]: later, [Symbol.dispose]: now, dispose } = object as Record<symbol | string, unknown>;
  if (typeof later === 'function') return later as Disposer;
  if (typeof now === 'function') return now as Disposer;
  return typeof dispose === 'function' ? (dispose as Disposer) : undefined;
}

/** Whether it is a promise, also of another realm or a library. A query builder with a method `then()` is none: to await it would send its statement. */
export const isPromise = (object: unknown): object is PromiseLike<unknown> => isThenable(object, true);

export function isThenable(object: unknown, orLess?: true): object is PromiseLike<unknown> {
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
export function giveRegistered(scope: Scope, { source }: Binding): unknown {
  const made = source.kind === 'value' ? source.value : (source as { factory: Factory }).factory(scope);
  return progress.running?.before ? noteGiven(scope, made) : made;
}

/** Resolves such a binding: of a shape that scopes share, each scope has its own factory. */
export function registered(binding: Binding): Resolver {
  const { key, source } = binding;
  const isOfOneScope = source.kind === 'register' && source.factory !== undefined;
  return (scope) => giveRegistered(scope, isOfOneScope ? binding : (scope.rare?.registered?.get(key) as Binding));
}
