import type { Binding } from './registration.js';
import type { ContainerError } from './errors.js';
import { own, shared, type Templates } from './fast.js';
import { type Key, keyOf, kindOf, type Dependency } from './keys.js';
import { type Place, place, places, reachable } from './places.js';
import { type Search, type Step, below, cycle, endless, keyless, missing, pathOf, traced } from './problems.js';
import {
  NOTHING,
  type Resolver,
  type Scope,
  type Shape,
  isMade,
  giving,
  isWaiting,
  fresh,
  MOST_DEEP,
} from './shape.js';
import { givenBy, isThere, registered, askFor } from './instances.js';
import type { Function_ } from './templates.js';

/** What cannot be resolved, and why. */
export class Unavailable {
  constructor(
    readonly problem: ContainerError | undefined,
    readonly causes: readonly Unavailable[] = [],
  ) {}
}

/** One walk over bindings: `resolve` throws the first problem, `verify` collects them all. */
export interface Walk extends Search {
  readonly templates: Templates;
  /** How many bindings were compiled. */
  made: number;
  /** How many are being compiled, each for the one before. */
  deep: number;
  /** What was compiled, by shape. */
  memo(home: Shape, held: boolean): Map<Binding, Resolver | object>;
  report(problem: ContainerError): Unavailable;
  /** Receives each key that a service depends on. */
  ask?(key: Key): void;
  /** Returns an instance that exists already. */
  existing?(home: Shape, binding: Binding): Resolver | undefined;
  /** Lazy dependencies, checked when all else is done. */
  readonly later?: [Place, Step][];
}

/** A walk that compiles into the memo. */
export const compiling = (shape: Shape, more: Partial<Walk>): Walk => ({
  shapes: [shape],
  made: 0,
  deep: 0,
  hinted: 0,
  templates: shared,
  memo: (home) => home.compiled,
  report: (problem) => {
    throw problem;
  },
  ...more,
});

/** Compiles with functions of their own. */
export const copying = (shape: Shape): Walk =>
  compiling(shape, { templates: own, memo: (home) => (home.copied ??= new Map<Binding, Resolver | object>()) });

/** The scope of that shape, this one or one above. */
function ownerIn(scope: Scope, home: Shape): Scope {
  let owner = scope;
  while (owner.shape !== home && owner.parent) owner = owner.parent;
  return owner;
}

/** Uses the instances that the scope and those above have, whatever has changed since; remembers nothing. */
export function compilingAround(scope: Scope): Walk {
  return compiling(scope.shape, {
    memo: memos(),
    existing(home, binding) {
      const owner = ownerIn(scope, home);
      const slot = home.slots.of(binding);
      return isMade(owner, slot) ? shared.keeping(slot, NOTHING, binding) : undefined;
    },
  });
}

export function memos(): Walk['memo'] {
  const all = [new Map<Shape, Map<Binding, Resolver | object>>(), new Map<Shape, Map<Binding, Resolver | object>>()];
  return (home, held) => {
    const memo = all[Number(held)]?.get(home) ?? new Map<Binding, Resolver | object>();
    all[Number(held)]?.set(home, memo);
    return memo;
  };
}

/** The function by which scopes of the shape get an instance of the binding. */
export function compile(
  shape: Shape,
  { binding, owner }: Place,
  path: Step | undefined,
  walk: Walk,
): Resolver | Unavailable {
  const home = binding.singleton || binding.source.kind === 'register' ? owner : shape;
  if (shape === home || walk.dry) return compileAtHome(binding, home, path, walk);
  const memo = walk.memo(shape, true);
  const known = memo.get(binding);
  if (typeof known === 'function') return known as Resolver;
  const made = compileAtHome(binding, home, path, walk) as Resolver;
  const resolver = walk.templates.fromAbove(shape.levelsTo(home), made);
  memo.set(binding, resolver);
  return resolver;
}

function compileAtHome(binding: Binding, home: Shape, path: Step | undefined, walk: Walk): Resolver | Unavailable {
  const holder = binding.singleton ? binding.key : path?.home === home ? path.holder : undefined;
  // A missing dependency of a singleton is another error: a captive dependency.
  const memo = walk.memo(home, holder !== undefined);
  const known = memo.get(binding);
  if (typeof known === 'function') return known as Resolver;
  if (known instanceof Unavailable) return known;
  if (known === walk) return walk.report(cycle(binding.key, home, pathOf(path)));
  if (walk.existing && binding.singleton) {
    const existing = walk.existing(home, binding);
    if (existing) return existing;
  }
  // Marks it as in progress for this walk; a mark that an earlier walk left when it threw is ignored.
  memo.set(binding, walk);
  const made = make(binding, home, { binding, home, before: path, holder }, walk);
  memo.set(binding, made);
  return made;
}

function make(binding: Binding, home: Shape, path: Step, walk: Walk): Resolver | Unavailable {
  walk.made++;
  // Deeper calls would overflow the stack, here or where the instances are made.
  if (walk.deep >= MOST_DEEP) return walk.report(endless(path));
  walk.deep++;
  const { source, singleton } = binding;
  const asked = home.dependencies(binding);
  // A parameter with a default is not counted by `length`, and may go without a key.
  const required = Math.max(binding.needs?.length ?? 0, source.kind === 'class' ? source.target.length : 0);
  const needs: Resolver[] = [];
  const failures: Unavailable[] = [];
  for (let i = 0; i < Math.max(required, asked.length); i++) {
    const dependency = asked[i];
    let need: Resolver | Unavailable = NOTHING;
    if (keyOf(dependency) !== undefined) need = deliver(dependency as Dependency, home, path, walk);
    else if (i < required || dependency !== undefined) need = walk.report(keyless(i, binding, home, path));
    if (need instanceof Unavailable) failures.push(need);
    else needs.push(need);
  }
  walk.deep--;
  if (failures[0]) return failures[1] ? new Unavailable(undefined, failures) : failures[0];
  if (walk.dry) return NOTHING;
  const unobserved = decorated(binding, home, undecorated(binding, home, needs, walk.templates), walk.templates);
  const maker = (home.plans.observer?.making(unobserved, binding) as Resolver | undefined) ?? unobserved;
  if (singleton) return walk.templates.keeping(home.slots.of(binding), maker, binding);
  return binding.externallyOwned ? givenBy(maker) : maker;
}

/** The function that resolves the dependency for instances made in scopes of the shape `home`. */
export function deliver(
  dependency: Dependency,
  home: Shape,
  path: Step | undefined,
  walk: Walk,
): Resolver | Unavailable {
  const kind = kindOf(dependency);
  const key = keyOf(dependency) as Key;
  if (path) walk.ask?.(key);
  if (kind === 'all') return deliverAll(key, home, path, walk);
  const found = kind === 'optional' ? places(home, key)[0] : place(home, key);
  if (kind === 'optional' && !found) {
    // It would never be delivered what is registered only for scopes below: `verify` reports that.
    const lasts = path?.holder !== undefined || path?.binding.declared !== undefined;
    return walk.dry && lasts && below(key, home, walk) ? walk.report(missing(key, home, path, walk)) : NOTHING;
  }
  if (kind === 'lazy' && path) {
    // It has to be available where its holder is: `verify` checks that now. What it needs cannot close a cycle.
    if (found) walk.later?.push([found, path]);
    if (found || !walk.dry) {
      const resolving = traced(home, path.binding.key, (scope) => resolveLater(scope, key));
      return (scope) => () => resolving(scope);
    }
  }
  return found ? compile(home, found, path, walk) : walk.report(missing(key, home, path, walk));
}

function deliverAll(key: Key, home: Shape, path: Step | undefined, walk: Walk): Resolver | Unavailable {
  const added = reachable(home, key).toReversed();
  const each = places(home, key)
    .toSorted((one, two) => added.indexOf(one.binding) - added.indexOf(two.binding))
    .map((found) => compile(home, found, path, walk));
  const failures = each.filter((one) => one instanceof Unavailable);
  if (failures[0]) return new Unavailable(undefined, failures);
  return (scope) => (each as Resolver[]).map((get) => get(scope));
}

/** A scope that is being disposed resolves nothing, but a disposer still gets what is there: dependencies are disposed after their dependents. */
function resolveLater(scope: Scope, key: Key): unknown {
  const found = scope.closed === 1 ? place(scope.shape, key) : undefined;
  const owner = found?.binding.singleton ? ownerIn(scope, found.owner) : scope;
  return found && owner.closed === 1 && (isWaiting(owner) || isThere(owner, found.binding))
    ? makeAt(owner, key, found)
    : owner.resolve(key as string);
}

/** Resolves the key at its place, whether the scope is disposed or not. */
export function makeAt(scope: Scope, key: Key, found: Place): unknown {
  const walk = compiling(scope.shape, { ask: (asked) => askFor(scope, asked) });
  return fresh(scope.shape, key, compile(scope.shape, found, undefined, walk) as Resolver)(scope);
}

function undecorated(binding: Binding, home: Shape, needs: readonly Resolver[], templates: Templates): Resolver {
  const { key, source, singleton, needs: listed } = binding;
  const [first = NOTHING] = needs;
  if (source.kind === 'class') return templates.constructing(source.target as new () => unknown, needs);
  if (source.kind === 'value') return giving(source.value);
  if (source.kind === 'alias') return singleton ? traced(home, key, first) : first;
  if (source.kind === 'register') return traced(home, key, registered(binding));
  const call = source.make as (...needs: unknown[]) => unknown;
  return traced(home, key, listed ? templates.calling(call, needs) : call);
}

function decorated(binding: Binding, home: Shape, inner: Resolver, templates: Templates): Resolver {
  const { key, decorators } = binding;
  return decorators ? traced(home, key, templates.wrapping(inner, decorators as readonly Function_[], binding)) : inner;
}
