import type { Container } from './container.js';
import type { ContainerError } from './errors.js';
import { all, type Dependency, type Key, keyOf, kindOf } from './keys.js';
import { holds, noteGiven } from './ownership.js';
import {
  cycle,
  endless,
  keyless,
  missing,
  pathOf,
  type Search,
  shapeBelowWith,
  type Step,
  traced,
} from './problems.js';
import { askFor, directResolvers } from './registering.js';
import type { Binding } from './registration.js';
import {
  giving,
  givingRegistered,
  isMade,
  type Match,
  MOST_COPIES,
  MOST_DEEP,
  NOTHING,
  type Resolver,
  type Shape,
} from './shape.js';
import { copied, type Function_, SHARED, type Templates } from './templates.js';

/** The reasons why a key or a binding cannot be resolved. */
export class Unavailable {
  constructor(
    readonly problem: ContainerError | undefined,
    readonly causes: readonly Unavailable[] = [],
  ) {}
}

/** One walk over bindings: `resolve` throws the first problem, `verify` collects them all. */
export interface Walk extends Search {
  readonly templates: Templates;
  made: number;
  /** How many are being compiled, each for the one before. */
  deep: number;
  /** The functions compiled so far, by shape. */
  memo(home: Shape, held: boolean): Map<Binding, Resolver | object>;
  report(problem: ContainerError): Unavailable;
  /** Receives each key that a service depends on. */
  ask?(key: Key): void;
  /** Returns an instance that exists already. */
  existing?(home: Shape, binding: Binding): Resolver | undefined;
  /** Lazy dependencies, checked when all else is done. */
  readonly later?: [Match, Step][];
}

const compiling = (shape: Shape, more: Partial<Walk>): Walk => ({
  shapes: [shape],
  made: 0,
  deep: 0,
  hinted: 0,
  templates: SHARED,
  memo: (home) => home.compiled,
  report: (problem) => {
    throw problem;
  },
  ...more,
});

/** Compiles with functions of their own. */
const copying = (shape: Shape): Walk =>
  compiling(shape, { templates: copied, memo: (home) => (home.copied ??= new Map<Binding, Resolver | object>()) });

function ownerIn(scope: Container, home: Shape): Container {
  let owner = scope;
  while (owner.shape !== home && owner.parent) owner = owner.parent;
  return owner;
}

/** Uses the instances that the scope and those above have, whatever has changed since; remembers nothing. */
function compilingAround(scope: Container): Walk {
  return compiling(scope.shape, {
    memo: memos(),
    existing(home, binding) {
      const owner = ownerIn(scope, home);
      const slot = home.slots.of(binding);
      return isMade(owner, slot) ? SHARED.keeping(slot, NOTHING, binding) : undefined;
    },
  });
}

export function memos(): Walk['memo'] {
  const forHeld = new Map<Shape, Map<Binding, Resolver | object>>();
  const others = new Map<Shape, Map<Binding, Resolver | object>>();
  return (home, held) => {
    const memosOf = held ? forHeld : others;
    const memo = memosOf.get(home) ?? new Map<Binding, Resolver | object>();
    memosOf.set(home, memo);
    return memo;
  };
}

export function compile(
  shape: Shape,
  { binding, owner }: Match,
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
  const maker = home.plans.observer?.making(unobserved, binding) ?? unobserved;
  if (singleton) return walk.templates.keeping(home.slots.of(binding), maker, binding);
  return binding.externallyOwned ? (scope) => noteGiven(scope, maker(scope)) : maker;
}

/** The function that resolves the dependency for instances made in scopes of the shape `home`. */
function deliver(dependency: Dependency, home: Shape, path: Step | undefined, walk: Walk): Resolver | Unavailable {
  const kind = kindOf(dependency);
  const key = keyOf(dependency) as Key;
  if (path) walk.ask?.(key);
  if (kind === 'all') return deliverAll(key, home, path, walk);
  const found = kind === 'optional' ? home.matches(key)[0] : home.match(key);
  if (kind === 'optional' && !found) {
    // It would never be delivered what is registered only for scopes below: `verify` reports that.
    const lasts = path?.holder !== undefined || path?.binding.declared !== undefined;
    return walk.dry && lasts && shapeBelowWith(key, home, walk) ? walk.report(missing(key, home, path, walk)) : NOTHING;
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
  const added = home.reachable(key).toReversed();
  const each = home
    .matches(key)
    .toSorted((one, two) => added.indexOf(one.binding) - added.indexOf(two.binding))
    .map((found) => compile(home, found, path, walk));
  const failures = each.filter((one) => one instanceof Unavailable);
  if (failures[0]) return new Unavailable(undefined, failures);
  return (scope) => (each as Resolver[]).map((get) => get(scope));
}

/** A scope that is being disposed resolves nothing new, but a disposer still gets existing instances: dependencies are disposed last. */
function resolveLater(scope: Container, key: Key): unknown {
  const found = scope.closed === 1 ? scope.shape.match(key) : undefined;
  const owner = found?.binding.singleton ? ownerIn(scope, found.owner) : scope;
  return found && owner.closed === 1 && (owner.isWaiting || holds(owner, found.binding))
    ? makeAt(owner, key, found)
    : owner.resolve(key as string);
}

/** Resolves the match that the scope owns, whether the scope is disposed or not. */
export function makeAt(scope: Container, key: Key, found: Match): unknown {
  const walk = compiling(scope.shape, { ask: (asked) => askFor(scope, asked) });
  return SHARED.fresh(scope.shape, key, compile(scope.shape, found, undefined, walk) as Resolver)(scope);
}

function undecorated(binding: Binding, home: Shape, needs: readonly Resolver[], templates: Templates): Resolver {
  const { key, source, singleton, needs: listed } = binding;
  const [first = NOTHING] = needs;
  if (source.kind === 'class') return templates.constructing(source.target as new () => unknown, needs);
  if (source.kind === 'value') return giving(source.value);
  if (source.kind === 'alias') return singleton ? traced(home, key, first) : first;
  if (source.kind === 'register') return traced(home, key, givingRegistered(binding));
  const call = source.make as (...needs: unknown[]) => unknown;
  return traced(home, key, listed ? templates.calling(call, needs) : call);
}

function decorated(binding: Binding, home: Shape, inner: Resolver, templates: Templates): Resolver {
  const { key, decorators } = binding;
  return decorators ? traced(home, key, templates.wrapping(inner, decorators as readonly Function_[], binding)) : inner;
}

// After so many calls a key gets functions of its own, if it has one in so many calls of its shape and takes few functions.
const OFTEN = 2000;
const ONE_IN = 64;
const FEW = 64;
// After so many calls it gets them in any case: by then the time that V8 takes to compile them pays.
const VERY_OFTEN = 16_000;

export function resolverFor(scope: Container, key: Key): Resolver {
  const [direct] = directResolvers(scope, key);
  if (direct) return SHARED.fresh(scope.shape, key, direct);
  return workedOut(scope, key, 'resolvers', (shape, found, walk) => entry(shape, key, found, walk, SHARED));
}

export function collectionFor(scope: Container, key: Key): Resolver {
  const direct = directResolvers(scope, key).toReversed();
  if (direct[0]) return SHARED.fresh(scope.shape, key, (from) => direct.map((get) => get(from)));
  return workedOut(scope, key, 'collections', (shape, _, walk) =>
    SHARED.fresh(shape, key, deliver(all(key), shape, undefined, walk) as Resolver),
  );
}

type WorkOut = (shape: Shape, found: Match | undefined, walk: Walk) => Resolver;

function workedOut(scope: Container, key: Key, known: 'resolvers' | 'collections', workOut: WorkOut): Resolver {
  for (;;) {
    const { shape } = scope;
    const found = shape.match(key);
    const ask = (asked: Key) => askFor(scope, asked);
    let resolver: Resolver;
    try {
      resolver = workOut(shape, found, compiling(shape, { ask }));
    } catch (error) {
      // It depends on a key that was registered directly, so the scope has another shape now.
      if (scope.shape !== shape) continue;
      return aroundChanges(scope, key, error as ContainerError, () => workOut(shape, found, compilingAround(scope)));
    }
    if (scope.shape !== shape) continue;
    // Keys without a registration may be made from data, so they are not remembered.
    if (!found) return resolver;
    if (typeof key === 'function') ask(key);
    const lasting = known === 'resolvers' && found.binding.source.kind !== 'value';
    shape.remember(known, key, lasting ? counting(shape, key, resolver) : resolver);
    return resolver;
  }
}

/** Returns an instance that exists, even if it could not be made again; else reports what stands in the way beside those. */
function aroundChanges(scope: Container, key: Key, error: ContainerError, workOut: () => Resolver): Resolver {
  try {
    return workOut();
  } catch (beside) {
    const problem = (beside as ContainerError).code === error.code ? error : beside;
    scope.shape.plans.observer?.refused(scope, key, problem);
    throw problem;
  }
}

function entry(shape: Shape, key: Key, found: Match | undefined, walk: Walk, templates: Templates): Resolver {
  const get = (found ? compile(shape, found, undefined, walk) : deliver(key, shape, undefined, walk)) as Resolver;
  const { binding, owner } = found as Match;
  if (binding.singleton) return templates.existing(shape.levelsTo(owner), owner.slots.of(binding), key, shape, get);
  return binding.source.kind === 'value' ? get : templates.fresh(shape, key, get);
}

/** Counts until the key turns out to be called often, and has it compiled again then. */
function counting(shape: Shape, key: Key, resolver: Resolver): Resolver {
  let calls = 0;
  let next = OFTEN;
  const count: Resolver = (scope) => {
    shape.calls++;
    if (++calls === next) {
      next *= 2;
      const isTime = calls >= VERY_OFTEN || calls * ONE_IN >= shape.calls;
      if (isTime && shape.resolvers.get(key) === count) hasten(shape, key, calls < VERY_OFTEN ? FEW : Infinity);
    }
    return resolver(scope);
  };
  return count;
}

function hasten(shape: Shape, key: Key, most: number): void {
  const found = shape.match(key);
  const trial = compiling(shape, { memo: memos() });
  entry(shape, key, found, trial, SHARED);
  if (trial.made > most || shape.plans.copies + trial.made > MOST_COPIES) return;
  const walk = copying(shape);
  const resolver = entry(shape, key, found, walk, copied);
  // Functions that were copied for other keys before are not counted again.
  shape.plans.copies += walk.made;
  shape.remember('resolvers', key, resolver);
  shape.often.add(key, resolver);
}
