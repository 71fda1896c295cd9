/*
 * The one file that is written for speed. V8 learns types per function: shared closures would teach it that "this calls any constructor", and
 * nothing would be inlined. So every binding gets copies of its own of the small functions below, made from their text: 2.5 to 5 times
 * faster (bench/results.md). A template may use nothing but its parameters. Where code from text is forbidden, the templates serve as they are.
 */
import { instanceCreated } from './events.js';
import { Lazy, type Key } from './keys.js';
import { planFor, plan, type Plan } from './plan.js';
import type { Binding } from './registration.js';
import type { Shape } from './shape.js';

/** What resolvers see of a scope. */
export interface Frame {
  readonly parent: Frame | undefined;
  readonly slots: unknown[];
  readonly closed: boolean;
  resolve(key: Key): unknown;
}

/** Delivers a service to a scope of the shape it was compiled for. */
export type Resolver = (scope: Frame) => unknown;

/** What the container does for resolvers, off the fast path. */
export interface Hooks {
  /** Notes an instance that has to be ended or started. */
  keep(scope: Frame, binding: Binding, instance: unknown): void;
  /** Throws: this singleton is asked for while it is being made. */
  reentered(scope: Frame, binding: Binding): never;
  /** Makes an instance while someone listens. */
  announced(scope: Frame, binding: Binding, make: Resolver): unknown;
  /** Calls a factory that may resolve more, so that errors can tell the way. */
  traced(scope: Frame, binding: Binding, make: (scope: Frame) => unknown): unknown;
}

type Constructor = new (...needs: unknown[]) => unknown;
type Endable = { [Symbol.asyncDispose]?: unknown; [Symbol.dispose]?: unknown; dispose?: unknown };

const construct = [
  (C: Constructor) => () => new C(),
  (C: Constructor, a: Resolver) => (scope: Frame) => new C(a(scope)),
  (C: Constructor, a: Resolver, b: Resolver) => (scope: Frame) => new C(a(scope), b(scope)),
  (C: Constructor, a: Resolver, b: Resolver, c: Resolver) => (scope: Frame) => new C(a(scope), b(scope), c(scope)),
  (C: Constructor, a: Resolver, b: Resolver, c: Resolver, d: Resolver) => (scope: Frame) =>
    new C(a(scope), b(scope), c(scope), d(scope)),
] as ((C: Constructor, ...needs: Resolver[]) => Resolver)[];

const constructWithMany =
  (C: Constructor, ...needs: Resolver[]) =>
  (scope: Frame) =>
    new C(...needs.map((need) => need(scope)));

const fromParent = (get: Resolver) => (scope: Frame) => get(scope.parent as Frame);

// Marks in a slot: being made now; made, and the value is undefined (an empty slot is undefined, too).
const BUSY = Symbol('busy');
const UNDEFINED = Symbol('undefined');

const once =
  (
    slot: number,
    make: Resolver,
    binding: Binding,
    ends: boolean,
    hooks: Hooks,
    busy: symbol,
    nothing: symbol,
    channel: { hasSubscribers: boolean },
    asyncDispose: typeof Symbol.asyncDispose,
    dispose: typeof Symbol.dispose,
  ) =>
  (scope: Frame) => {
    const held = scope.slots[slot];
    if (held !== undefined) {
      if (held === busy) hooks.reentered(scope, binding);
      return held === nothing ? undefined : held;
    }
    scope.slots[slot] = busy;
    let made;
    try {
      made = channel.hasSubscribers ? hooks.announced(scope, binding, make) : make(scope);
    } catch (error) {
      scope.slots[slot] = undefined;
      throw error;
    }
    scope.slots[slot] = made === undefined ? nothing : made;
    if (
      ends ||
      scope.closed ||
      (made !== undefined &&
        made !== null &&
        ((made as Endable)[asyncDispose] ?? (made as Endable)[dispose] ?? (made as Endable).dispose) !== undefined)
    )
      hooks.keep(scope, binding, made);
    return made;
  };

let copies = 0;

function copied<F extends (...args: never[]) => unknown>(template: F): F {
  // The number makes the text new: V8 would hand out the same function, with the same memory, for the same text.
  return new Function(`return ${template} /* ${copies++} */`)() as F;
}

/** A copy of the template with a memory of its own, or the template itself where copies do not work. */
const own = ((): typeof copied => {
  try {
    // Coverage tools and bundlers may have put names into the text that a copy cannot see.
    copied(construct[1] as (C: Constructor, a: Resolver) => Resolver)(Object, () => 1)({} as Frame);
    return copied;
  } catch {
    return (template) => template;
  }
})();

/** The resolver for the key, seen from the shape. */
export function resolverFor(shape: Shape, key: Key, trail: readonly Key[], hooks: Hooks): Resolver {
  const resolver = instance(planFor(shape.use(), key, trail), shape, hooks);
  shape.resolvers.set(key, resolver);
  return resolver;
}

/** The resolver for every service of the key, in the order of registration. */
export function collectionFor(shape: Shape, key: Key, hooks: Hooks): Resolver {
  const resolver = together(
    shape
      .use()
      .places(key)
      .reverse()
      .map((place) => plan(shape, place) as Plan),
    shape,
    hooks,
  );
  shape.collections.set(key, resolver);
  return resolver;
}

const together = (plans: readonly Plan[], shape: Shape, hooks: Hooks): Resolver => {
  const each = plans.map((one) => instance(one, shape, hooks));
  return (scope) => each.map((get) => get(scope));
};

function instance(made: Plan, shape: Shape, hooks: Hooks): Resolver {
  const known = shape.instances.get(made.binding);
  if (known) return known;
  const kept = made.binding.singleton || made.binding.source.kind === 'register';
  let resolver: Resolver;
  if (kept && made.hops > 0) {
    const above = shape.parent as Shape;
    resolver = own(fromParent)(instance({ ...made, hops: made.hops - 1 }, above, hooks));
  } else resolver = made.binding.singleton ? single(made, hooks) : maker(made, hooks);
  shape.instances.set(made.binding, resolver);
  return resolver;
}

function single(made: Plan, hooks: Hooks): Resolver {
  const { binding, owner } = made;
  const { source, onDispose, onStart } = binding;
  if (source.kind === 'value' && !binding.decorators) return () => source.value;
  const ends = (onDispose ?? onStart) !== undefined;
  return own(once)(
    owner.slotOf(binding),
    maker(made, hooks),
    binding,
    ends,
    hooks,
    BUSY,
    UNDEFINED,
    instanceCreated,
    Symbol.asyncDispose,
    Symbol.dispose,
  );
}

function maker(made: Plan, hooks: Hooks): Resolver {
  const make = undecorated(made, hooks);
  const wraps = made.binding.decorators as ((inner: unknown, scope: Frame) => unknown)[] | undefined;
  return wraps ? (scope) => wraps.reduce((inner, wrap) => wrap(inner, scope), make(scope)) : make;
}

function undecorated({ binding, home, owner, needs: wanted }: Plan, hooks: Hooks): Resolver {
  const { source } = binding;
  const needs = wanted.map(({ dependency, plans }): Resolver => {
    if (dependency === undefined) return () => undefined;
    if (dependency instanceof Lazy) return (scope) => () => scope.resolve(dependency.key);
    const [only] = plans;
    return typeof dependency === 'object' ? together(plans, home, hooks) : instance(only as Plan, home, hooks);
  });
  switch (source.kind) {
    case 'class':
      return own(construct[needs.length] ?? constructWithMany)(source.target as Constructor, ...needs);
    case 'value':
      return () => source.value;
    case 'alias':
      return needs[0] as Resolver;
    case 'register': {
      const slot = owner.slotOf(binding);
      const make = (scope: Frame) => (scope.slots[slot] as (scope: Frame) => unknown)(scope);
      return (scope) => hooks.traced(scope, binding, make);
    }
    case 'factory': {
      const make = source.make as (...needs: unknown[]) => unknown;
      if (binding.needs) return (scope) => make(...needs.map((need) => need(scope)));
      return (scope) => hooks.traced(scope, binding, make);
    }
  }
}
