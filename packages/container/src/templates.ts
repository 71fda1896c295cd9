/*
 * These functions run for each instance. V8 learns types per function: it would inline nothing in a function that all bindings share. So
 * bindings that are resolved often get copies, made from the text of these functions and 1.5 to 3 times as fast (docs/decisions.md#speed-and-size-of-the-container).
 * Therefore these functions may use nothing but their parameters and globals. Where code from text is forbidden, or a tool has changed it,
 * the functions serve as they are.
 */
import type { Container } from './container.js';
import { instanceCreated } from './events.js';
import type { Key } from './keys.js';
import { keepLayers, keepUnfinished } from './ownership.js';
import { cycle } from './problems.js';
import type { Binding } from './registration.js';
import { BUSY, indexOf, NEAR, pageOf, progress, type Resolver, type Root, type Shape, UNDEFINED } from './shape.js';

type Constructor = new (...needs: unknown[]) => unknown;
export type Function_ = (...needs: unknown[]) => unknown;
type Apply<T> = (target: T, ...needs: Resolver[]) => Resolver;
type Disposable_ = Partial<Record<symbol | 'dispose' | 'then', unknown>>;

const constructors = [
  (C: Constructor) => () => new C(),
  (C: Constructor, a: Resolver) => (scope: Container) => new C(a(scope)),
  (C: Constructor, a: Resolver, b: Resolver) => (scope: Container) => new C(a(scope), b(scope)),
  (C: Constructor, a: Resolver, b: Resolver, c: Resolver) => (scope: Container) => new C(a(scope), b(scope), c(scope)),
] as Apply<Constructor>[];

const anyConstructor: Apply<Constructor> =
  (C, ...needs) =>
  (scope) =>
    new C(...needs.map((need) => need(scope)));

const calls = [
  (call: Function_) => () => call(),
  (call: Function_, a: Resolver) => (scope: Container) => call(a(scope)),
  (call: Function_, a: Resolver, b: Resolver) => (scope: Container) => call(a(scope), b(scope)),
] as Apply<Function_>[];

const anyCall: Apply<Function_> =
  (call, ...needs) =>
  (scope) =>
    call(...needs.map((need) => need(scope)));

const constants = {
  busy: BUSY,
  nothing: UNDEFINED,
  created: instanceCreated as { readonly hasSubscribers: boolean; publish(message: unknown): void },
  asyncDispose: Symbol.asyncDispose,
  dispose: Symbol.dispose,
  keepLayers,
  keepUnfinished,
  refuse: refuseReentry,
  pageOf,
  progress,
};
type Constants = typeof constants;

/** This singleton is resolved while it is being made. */
function refuseReentry(scope: Container, { key }: Binding): never {
  throw cycle(key, scope.shape);
}

const fromAncestor = (levels: number, get: Resolver) => (scope: Container) => {
  let owner = scope.parent as Container;
  for (let i = 1; i < levels; i++) owner = owner.parent as Container;
  return get(owner);
};

const keepingOne = (slot: number, at: number, near: boolean, make: Resolver, binding: Binding, known: Constants) => {
  // Read once: a copy finds variables of its own faster than properties.
  const { busy, nothing, created, asyncDispose, dispose, refuse, pageOf: far } = known;
  const { source, decorators, onDispose, onStart } = binding;
  const always = (onDispose ?? onStart) !== undefined && !decorators;
  // Other code owns a value, and `decorating` keeps the results of decorators.
  const looks = source.kind !== 'value' && !decorators;
  const mayBePromise = looks && source.kind !== 'class';
  // Other code made the instance, as it makes one that is registered directly.
  const isNews = !('isOfScope' in source);
  return (scope: Container) => {
    const cells = near ? scope.slots : far(scope, slot);
    const held = cells[at];
    if (held !== undefined) {
      if (held === busy) refuse(scope, binding);
      return held === nothing ? undefined : held;
    }
    cells[at] = busy;
    const since = isNews && created.hasSubscribers ? performance.now() : undefined;
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
    if (notes || scope.closed > 0) scope.keep(binding, made);
    if (since !== undefined) created.publish({ scope, key: binding.key, milliseconds: performance.now() - since });
    return made;
  };
};

const decorating = (inner: Resolver, wraps: readonly Function_[], binding: Binding, known: Constants) => {
  const { asyncDispose, dispose, keepLayers: note, keepUnfinished: noteUnfinished } = known;
  const { singleton, onDispose, onStart } = binding;
  const always = (onDispose ?? onStart) !== undefined;
  return (scope: Container) => {
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

/** Returns an instance that exists at once; otherwise a call of `resolve` begins. */
const existingFirst = (
  levels: number,
  slot: number,
  at: number,
  near: boolean,
  root: Root,
  get: Resolver,
  known: Constants,
) => {
  const { busy, nothing, pageOf: far, progress: now } = known;
  return (scope: Container) => {
    let owner = scope;
    for (let i = 0; i < levels; i++) owner = owner.parent as Container;
    const held = (near ? owner.slots : far(owner, slot))[at];
    if (held !== undefined && held !== busy && held !== nothing) return held;
    now.root = root;
    now.resolving++;
    try {
      return get(scope);
    } finally {
      now.resolving--;
    }
  };
};

/** A call of `resolve` that makes something begins. */
const beginning =
  (root: Root, get: Resolver, { progress: now }: Constants) =>
  (scope: Container) => {
    now.root = root;
    now.resolving++;
    try {
      return get(scope);
    } finally {
      now.resolving--;
    }
  };

/** A copy of the function; the function itself where the platform refuses that, as Workers do while they serve a request. */
const copyOf = <F extends (...args: never[]) => unknown>(template: F): F => {
  try {
    // The number makes the text new: for a known text V8 hands out the known function, with the types it has seen.
    // oxlint-disable-next-line no-implied-eval, restrict-template-expressions -- the text is that of a function in this file
    return new Function(`return ${template} /* ${Math.random()} */`)() as F;
  } catch {
    return template;
  }
};

/** Makes what runs for each instance. */
export interface Templates {
  /** Makes a new instance each time. */
  constructing(target: Constructor, needs: readonly Resolver[]): Resolver;
  calling(call: Function_, needs: readonly Resolver[]): Resolver;
  wrapping(inner: Resolver, wraps: readonly Function_[], binding: Binding): Resolver;
  /** Makes one instance per scope, in that slot. */
  keeping(slot: number, make: Resolver, binding: Binding): Resolver;
  /** Asks the scope so many levels above. */
  fromAbove(levels: number, get: Resolver): Resolver;
  /** Looks into the slot of the owner first. */
  existing(levels: number, slot: number, key: Key, shape: Shape, get: Resolver): Resolver;
  /** Makes something at each `resolve` of the key. */
  fresh(shape: Shape, key: Key, get: Resolver): Resolver;
}

const templatesBy = (copy: typeof copyOf): Templates => ({
  constructing: (target, needs) => copy(constructors[needs.length] ?? anyConstructor)(target, ...needs),
  calling: (call, needs) => copy(calls[needs.length] ?? anyCall)(call, ...needs),
  wrapping: (inner, wraps, binding) => copy(decorating)(inner, wraps, binding, constants),
  keeping: (slot, make, binding) => copy(keepingOne)(slot, indexOf(slot), slot < NEAR, make, binding, constants),
  fromAbove: (levels, get) => copy(fromAncestor)(levels, get),
  existing: (levels, slot, key, shape, get) =>
    copy(existingFirst)(levels, slot, indexOf(slot), slot < NEAR, { key, shape }, get, constants),
  fresh: (shape, key, get) => copy(beginning)({ key, shape }, get, constants),
});

/** Shared by all bindings: made at once, slower to run. */
export const SHARED = templatesBy((template) => template);

/** A copy for each binding: faster to run, and 0.1 ms to make. The shared ones where copies do not work. */
export const copied = ((): Templates => {
  try {
    copyOf(constructors[1] as Apply<Constructor>)(Object, () => 1)({} as Container);
    return templatesBy(copyOf);
  } catch {
    return SHARED;
  }
})();
