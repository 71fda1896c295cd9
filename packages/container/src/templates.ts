/*
 * What runs for each instance. These functions are used as they are, or copied from their text for a binding that is resolved often (fast.ts).
 * So they may use nothing but their parameters and globals.
 */
import type { Binding } from './registration.js';
import { announce, keep, keepLayers, keepUnfinished, reentered } from './instances.js';
import type { Key } from './keys.js';
import { type Resolver, type Scope, type Shape, BUSY, page, UNDEFINED, progress } from './shape.js';
import { instanceCreated } from './events.js';

export type Constructor = new (...needs: unknown[]) => unknown;
export type Function_ = (...needs: unknown[]) => unknown;
export type Apply<T> = (target: T, ...needs: Resolver[]) => Resolver;
type Disposable_ = Partial<Record<symbol | 'dispose' | 'then', unknown>>;

export const constructors = [
  (C: Constructor) => () => new C(),
  (C: Constructor, a: Resolver) => (scope: Scope) => new C(a(scope)),
  (C: Constructor, a: Resolver, b: Resolver) => (scope: Scope) => new C(a(scope), b(scope)),
  (C: Constructor, a: Resolver, b: Resolver, c: Resolver) => (scope: Scope) => new C(a(scope), b(scope), c(scope)),
] as Apply<Constructor>[];

export const anyConstructor: Apply<Constructor> =
  (C, ...needs) =>
  (scope) =>
    new C(...needs.map((need) => need(scope)));

export const calls = [
  (call: Function_) => () => call(),
  (call: Function_, a: Resolver) => (scope: Scope) => call(a(scope)),
  (call: Function_, a: Resolver, b: Resolver) => (scope: Scope) => call(a(scope), b(scope)),
] as Apply<Function_>[];

export const anyCall: Apply<Function_> =
  (call, ...needs) =>
  (scope) =>
    call(...needs.map((need) => need(scope)));

export const constants = {
  busy: BUSY,
  nothing: UNDEFINED,
  created: instanceCreated as { readonly hasSubscribers: boolean },
  asyncDispose: Symbol.asyncDispose,
  dispose: Symbol.dispose,
  announce,
  keep,
  keepLayers,
  keepUnfinished,
  reentered,
  page,
  progress,
};
type Constants = typeof constants;

export const above = (levels: number, get: Resolver) => (scope: Scope) => {
  let owner = scope.parent as Scope;
  for (let i = 1; i < levels; i++) owner = owner.parent as Scope;
  return get(owner);
};

export const one = (slot: number, at: number, near: boolean, make: Resolver, binding: Binding, known: Constants) => {
  // Read once: a copy finds variables of its own faster than properties.
  const {
    busy,
    nothing,
    created,
    asyncDispose,
    dispose,
    announce: notify,
    keep: note,
    reentered: refuse,
    page: far,
  } = known;
  const { source, decorators, onDispose, onStart } = binding;
  const always = (onDispose ?? onStart) !== undefined && !decorators;
  // Other code owns a value, and `wrapped` keeps what decorators made.
  const looks = source.kind !== 'value' && !decorators;
  const mayBePromise = looks && source.kind !== 'class';
  return (scope: Scope) => {
    const cells = near ? scope.slots : far(scope, slot);
    const held = cells[at];
    if (held !== undefined) {
      if (held === busy) refuse(scope, binding);
      return held === nothing ? undefined : held;
    }
    cells[at] = busy;
    const since = created.hasSubscribers ? performance.now() : undefined;
    let made;
    let notes = always;
    try {
      made = make(scope) as Disposable_ | null | undefined;
      if (looks && !notes) notes = (made?.[asyncDispose] ?? made?.[dispose] ?? made?.dispose) !== undefined;
      if (mayBePromise && !notes) notes = made?.then !== undefined;
    } catch (error) {
      // A proxy that throws at every access has no disposer to call.
      if (made === undefined) {
        cells[at] = undefined;
        throw error;
      }
    }
    cells[at] = made === undefined ? nothing : made;
    if (notes || scope.closed > 0) note(scope, binding, made);
    if (since !== undefined) notify(scope, binding, since);
    return made;
  };
};

export const wrapped = (inner: Resolver, wraps: readonly Function_[], binding: Binding, known: Constants) => {
  const { asyncDispose, dispose, keepLayers: note, keepUnfinished: noteUnfinished } = known;
  const { singleton, onDispose, onStart } = binding;
  const always = (onDispose ?? onStart) !== undefined;
  return (scope: Scope) => {
    let made = inner(scope);
    const layers = [made];
    let notes = always || scope.closed > 0;
    try {
      for (const wrap of wraps) layers.push((made = wrap(made, scope)));
    } catch (error) {
      if (singleton) noteUnfinished(scope, binding, layers);
      throw error;
    }
    if (!singleton) return made;
    try {
      for (const layer of layers as (Disposable_ | null | undefined)[])
        notes ||= (layer?.[asyncDispose] ?? layer?.[dispose] ?? layer?.dispose ?? layer?.then) !== undefined;
    } catch {
      // A proxy that throws at every access has no disposer to call.
    }
    if (notes) note(scope, binding, layers);
    return made;
  };
};

/** What `resolve` was called for: an instance that exists is returned at once. */
export const kept = (
  levels: number,
  slot: number,
  at: number,
  near: boolean,
  key: Key,
  shape: Shape,
  get: Resolver,
  known: Constants,
) => {
  const { busy, nothing, page: far, progress: now } = known;
  return (scope: Scope) => {
    let owner = scope;
    for (let i = 0; i < levels; i++) owner = owner.parent as Scope;
    const held = (near ? owner.slots : far(owner, slot))[at];
    if (held !== undefined && held !== busy && held !== nothing) return held;
    now.root = key;
    now.rootShape = shape;
    now.resolving++;
    try {
      return get(scope);
    } finally {
      now.resolving--;
    }
  };
};
