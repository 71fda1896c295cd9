import type { Binding } from './binding.js';
import type { Factory } from './contract.js';
import { isValue } from './places.js';
import { cycle } from './problems.js';
import { refuseDisposed } from './scope.js';
import { Shape, type Resolver, type Scope } from './shape.js';
import { instanceCreated } from './events.js';
import { cells, indexOf, rare, type Kept } from './state.js';
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

export function isPromise(object: unknown): object is PromiseLike<unknown> {
  try {
    return typeof (object as PromiseLike<unknown> | null | undefined)?.then === 'function';
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
  const owned = !binding.externallyOwned || binding.onDispose !== undefined;
  scope.kept = { binding, instance, layers: undefined, before: scope.kept, owned, started: 0 };
  // It was disposed while this was made; its disposal waits for that.
  if (scope.closed) refuseDisposed(scope, 'resolve', binding.key);
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
  const owned = !externallyOwned && made && isDisposable(instance) && (isNew || !isOwned(scope, instance));
  if (owned || onDispose || onStart) {
    const kept = { binding, instance, layers, before: scope.kept, owned: owned || onDispose !== undefined, started: 0 };
    scope.kept = kept;
    if (owned && !isNew && isPromise(instance)) settleLater(scope, kept, instance);
  }
  refuseDisposed(scope, 'resolve', binding.key);
}

/** Keeps an instance whose decorator threw: it is never started, but disposed as far as it was made. */
export function keepUnfinished(scope: Scope, binding: Binding, layers: readonly unknown[]): void {
  const { key, source, externallyOwned } = binding;
  const hooks = binding.onDispose?.filter(({ layer }) => layer < layers.length) ?? [];
  const unfinished = {
    key,
    source,
    ...(hooks[0] && { onDispose: hooks }),
    ...(externallyOwned && { externallyOwned }),
  };
  keepLayers(scope, unfinished, layers);
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
      const slot = scope.shape.slots.find(kept.binding);
      if (slot !== undefined && cells(scope, slot)[indexOf(slot)] === promise)
        cells(scope, slot)[indexOf(slot)] = undefined;
      for (let newer = scope.kept; newer; newer = newer.before) if (newer.before === kept) newer.before = kept.before;
      if (scope.kept === kept) scope.kept = kept.before;
    },
  );
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
  for (let i = 0; i < FEW && kept; i++, kept = kept.before) if (kept.owned && kept.instance === object) return true;
  if (!kept) return false;
  const index = (rare(scope).owned ??= { objects: new Set<unknown>(), to: undefined });
  for (let one: Kept | undefined = kept; one && one !== index.to; one = one.before)
    if (one.owned) index.objects.add(one.instance);
  index.to = kept;
  return index.objects.has(object);
}

/** Remembers objects that a factory received from outside of the container: if it returns one, the code that made it disposes it. */
function noteGiven(scope: Scope, made: unknown): unknown {
  if (progress.running?.before && isDisposable(made)) (rare(scope).given ??= new WeakSet()).add(made as object);
  return made;
}

/** Resolves what was registered directly: the value, or what the factory returns for the scope it was registered on. */
export function giveRegistered(scope: Scope, { source }: Binding): unknown {
  return noteGiven(scope, source.kind === 'value' ? source.value : (source as { factory: Factory }).factory(scope));
}

/** Resolves such a binding: of a shape that scopes share, each scope has its own factory. */
export function registered(binding: Binding): Resolver {
  const { key, source } = binding;
  const isOfOneScope = source.kind === 'register' && source.factory !== undefined;
  return (scope) => giveRegistered(scope, isOfOneScope ? binding : (scope.rare?.registered?.get(key) as Binding));
}
