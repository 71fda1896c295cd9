import type { Container, KeptInstance } from './container.js';
import type { Key } from './keys.js';
import { between } from './problems.js';
import type { Binding } from './registration.js';
import { BUSY, empty, isMade, isPromise, read, Shape } from './shape.js';

type Disposer = (this: unknown, ...why: unknown[]) => unknown;

/** The object's own way to be disposed. */
export function findDisposer(object: unknown): Disposer | undefined {
  if (object === null || (typeof object !== 'object' && typeof object !== 'function')) return undefined;
  const {
    [Symbol.asyncDispose]: later,
    [Symbol.dispose]: now,
    dispose: other,
  } = object as Record<symbol | string, unknown>;
  // A search through a list would be made for each instance that is disposed.
  if (typeof later === 'function') return later as Disposer;
  if (typeof now === 'function') return now as Disposer;
  return typeof other === 'function' ? (other as Disposer) : undefined;
}

/** True if the object has a disposer, or is a promise of something that may have one. */
function isDisposable(object: unknown): boolean {
  try {
    return findDisposer(object) !== undefined || isPromise(object);
  } catch {
    // A proxy that throws at every access has no disposer to call.
    return false;
  }
}

/**
 * Keeps an instance with the results of its decorators. The scope disposes the outermost of these that has a disposer, unless it
 * or a scope around it owns that object already, or the registration is `externallyOwned()`.
 */
export function keepLayers(scope: Container, binding: Binding, layers: readonly unknown[]): void {
  const { source, onDispose, onStart, externallyOwned } = binding;
  let outermost = layers.length - 1;
  while (outermost > 0 && !isDisposable(layers[outermost])) outermost--;
  const instance = layers[outermost];
  // A class makes a new object, and a value belongs to other code; a factory may return an object that a scope owns already.
  const made = outermost > 0 || source.kind !== 'value';
  const isNew = outermost === 0 && source.kind === 'class';
  const disposable = made && isDisposable(instance);
  const owned = disposable && !externallyOwned && (isNew || !isOwned(scope, instance));
  // An externally owned object is known as such to the scopes below, which may pass it on.
  if (owned || onDispose || onStart || (disposable && externallyOwned)) {
    const kept = scope.enter(binding, instance, layers, owned);
    if ((owned || externallyOwned) && !isNew && isPromise(instance)) replaceByResult(scope, kept, instance);
  }
  if (!scope.isWaiting) scope.refuseDisposed('resolve', binding.key);
}

/** Keeps an instance whose decorator threw: it is never started, but disposed as far as it was made. */
export function keepUnfinished(scope: Container, binding: Binding, layers: readonly unknown[]): void {
  const { key, source, externallyOwned } = binding;
  const hooks = binding.onDispose?.filter(({ layer }) => layer < layers.length);
  keepLayers(scope, { key, source, externallyOwned, onDispose: hooks?.[0] && hooks }, layers);
}

/** A promise is replaced by its result, which is disposed; a rejected one is removed, so that the next `resolve` tries again. */
function replaceByResult(scope: Container, kept: KeptInstance, promise: PromiseLike<unknown>): void {
  const { key } = kept.binding;
  void promise.then(
    (instance) => {
      kept.owned &&= !isOwned(scope, instance);
      kept.instance = instance;
      scope.rare?.index?.objects.add(instance);
      if (scope.rare?.rejected?.key === key) scope.rare.rejected = undefined;
    },
    (cause: unknown) => {
      kept.owned = false;
      kept.instance = undefined;
      scope.rareState().rejected = { key, cause };
      forget(scope, key, promise);
      for (let at = scope.latest; at; at = at.previous) if (at.previous === kept) at.previous = kept.previous;
      if (scope.latest === kept) scope.latest = kept.previous;
    },
  );
}

/** Empties the slot of the promise, and those of services that have received it, so that all of them are made again. */
function forget(scope: Container, key: Key, promise: unknown): void {
  // Thousands of open scopes may have one shape.
  const dependents = new Map<Shape, [Binding, number][]>();
  for (const at of scope.tree()) {
    const { shape } = at;
    const taken = () =>
      [...shape.slots.taken].filter(([binding]) => binding.key === key || between(shape, binding.key, new Set([key])));
    if (!dependents.has(shape)) dependents.set(shape, taken());
    for (const [binding, slot] of dependents.get(shape) ?? []) {
      const held = read(at, slot);
      if (held === promise || (binding.key !== key && isMade(at, slot) && !isPromise(held))) empty(at, slot);
    }
  }
}

// So many entries are searched one by one; the rest of a longer list is indexed.
const FEW = 8;

/** True if the scope or one around it disposes that very object, or received it from code that does. */
function isOwned(scope: Container, object: unknown): boolean {
  if (scope.shape.hasValue(object)) return true;
  for (let at: Container | undefined = scope; at; at = at.parent)
    if (object === at || at.rare?.given?.has(object as object) || keeps(at, object)) return true;
  // A scope is disposed with the one around it; one of another library, whatever it looks like, is not.
  const { shape, parent } = (object ?? {}) as Partial<Container>;
  return shape instanceof Shape && parent !== undefined;
}

function keeps(scope: Container, object: unknown): boolean {
  let kept = scope.latest;
  for (let i = 0; i < FEW && kept; i++, kept = kept.previous) if (kept.instance === object) return true;
  if (!kept) return false;
  const index = (scope.rareState().index ??= { objects: new Set<unknown>(), to: undefined });
  for (let at: KeptInstance | undefined = kept; at && at !== index.to; at = at.previous) index.objects.add(at.instance);
  index.to = kept;
  return index.objects.has(object);
}

/** Remembers objects of other code, which disposes them: if a factory that received one returns it, the scope does not own it. */
export function noteGiven(scope: Container, made: unknown): unknown {
  if (isDisposable(made)) (scope.rareState().given ??= new WeakSet()).add(made as object);
  return made;
}

/** True if the scope has an instance that is not disposed. */
export function holds(scope: Container, binding: Binding): boolean {
  const slot = scope.shape.slots.taken.get(binding);
  if (slot === undefined || !isMade(scope, slot)) return false;
  for (let kept = scope.latest; kept; kept = kept.previous) if (kept.binding === binding) return true;
  return !isDisposable(read(scope, slot));
}

/**
 * Lists the singletons that a scope has made, for tools that look at them. It makes none.
 *
 * @param container - the scope
 * @returns each with the key of its registration
 *
 * @example
 * ```ts
 * import { instancesOf } from '@ambit/container/tools';
 * const { value, build } = lifetimes('application');
 * const app = new Container({ tags: ['application'] }).addRegistration(...build({ IOne: value(1) }).registrations);
 * instancesOf(app); // []: a value is not made
 * ```
 */
export const instancesOf = (container: Container): { readonly key: Key; readonly instance: unknown }[] =>
  [...container.shape.slots.taken]
    .map(([{ key }, slot]) => ({ key, instance: read(container, slot) }))
    .filter(({ instance }) => instance !== undefined && instance !== BUSY);
