import type { Binding } from './binding.js';
import type { Templates } from './fast.js';
import { givenBy, isThere, registered } from './keeping.js';
import { keyOf, kindOf, type Dependency, type Key } from './keys.js';
import { place, places, reachable, type Place } from './places.js';
import { below, cycle, endless, keyless, missing, pathOf, traced, type Step } from './problems.js';
import { askFor } from './registering.js';
import { giving, NOTHING, type Resolver, type Scope, type Shape } from './shape.js';
import { isWaiting } from './state.js';
import type { Function_ } from './templates.js';
import { fresh, MOST_DEEP } from './tracing.js';
import { compiling, ownerIn, Unavailable, type Walk } from './walk.js';

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
  const own = decorated(binding, home, undecorated(binding, home, needs, walk.templates), walk.templates);
  const maker = (home.plans.observer?.making(own, binding) as Resolver | undefined) ?? own;
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
