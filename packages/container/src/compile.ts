import type { Container } from './container.js';
import { constructing, fromParent, keeping, type Resolver } from './fast.js';
import { All, keyOf, Lazy, type Dependency, type Key } from './keys.js';
import { keep } from './keeping.js';
import { cycle, keyless, missing, type Step, type Walk } from './problems.js';
import type { Binding } from './registration.js';
import type { Place, Shape } from './shape.js';
import { called, traced } from './tracing.js';
import { handed } from './trail.js';

const NOTHING: Resolver = () => undefined;

/** What delivers the dependency to scopes of the shape, worked out once. */
export function resolverFor(shape: Shape, key: Key, dependency: Dependency, known: Map<Key, Resolver>): Resolver {
  const walk: Walk = {
    shapes: [shape],
    report: (problem) => {
      throw problem;
    },
  };
  const resolver = deliver(dependency, shape.use(), [], walk) as Resolver;
  // Of a key that nobody knows there is nothing to remember.
  if (shape.place(key)) known.set(key, resolver);
  return resolver;
}

/** How scopes of the shape get what the binding makes; undefined where it has problems, which are reported. */
export function compile(shape: Shape, place: Place, path: readonly Step[], walk: Walk): Resolver | undefined {
  const { binding, owner } = place;
  const { key, singleton, source } = binding;
  const home = singleton || source.kind === 'register' ? owner : shape;
  const before = path.findIndex((step) => step.binding === binding && step.home === home);
  if (before >= 0) return path.slice(before).some(({ later }) => later) ? NOTHING : walk.report(cycle(key, home, path));
  const known = shape.compiled.get(binding);
  // Failed before on this very walk, and was reported.
  if (known === walk) return undefined;
  if (typeof known === 'function') return known as Resolver;
  const above = shape !== home;
  const get = above
    ? compile(shape.parent as Shape, place, path, walk)
    : make(binding, home, [...path, { binding, home }], walk);
  const resolver = above && get && !walk.dry ? fromParent(get) : get;
  shape.compiled.set(binding, resolver ?? walk);
  return resolver;
}

function make(binding: Binding, home: Shape, path: readonly Step[], walk: Walk): Resolver | undefined {
  const { source, singleton } = binding;
  const asked = home.dependencies(binding);
  // A parameter with a default is not counted by `length`, and may go without a key.
  const required = Math.max(binding.needs?.length ?? 0, source.kind === 'class' ? source.target.length : 0);
  const needs = Array.from({ length: Math.max(required, asked.length) }, (_, i) => {
    const dependency = asked[i];
    if (keyOf(dependency) !== undefined) return deliver(dependency as Dependency, home, path, walk);
    return i < required || dependency !== undefined ? walk.report(keyless(i, binding, home, path)) : NOTHING;
  });
  if (needs.includes(undefined)) return undefined;
  if (walk.dry) return NOTHING;
  const maker = decorated(binding, undecorated(binding, home, needs as Resolver[]));
  return singleton ? keeping(home.slotOf(binding), maker, binding) : maker;
}

function deliver(dependency: Dependency, home: Shape, path: readonly Step[], walk: Walk): Resolver | undefined {
  if (dependency instanceof All) {
    const added = home.reachable(dependency.key).toReversed();
    const each = home
      .places(dependency.key)
      .toSorted((one, two) => added.indexOf(one.binding) - added.indexOf(two.binding))
      .map((place) => compile(home, place, path, walk));
    return each.includes(undefined) ? undefined : (scope) => (each as Resolver[]).map((get) => get(scope));
  }
  const later = dependency instanceof Lazy;
  const key = later ? dependency.key : dependency;
  const place = home.place(key);
  if (later && (place || !walk.dry)) {
    const holder = path.at(-1) as Step;
    // It has to be possible where the holder lives; when it is asked for, nobody looks any more.
    if (walk.dry) compile(home, place as Place, path.with(path.length - 1, { ...holder, later: true }), walk);
    return (scope) => () => traced(scope, holder.binding.key, () => scope.resolve(key as string));
  }
  return place ? compile(home, place, path, walk) : walk.report(missing(key, home, path, walk));
}

function undecorated(binding: Binding, home: Shape, needs: readonly Resolver[]): Resolver {
  const { key, source, needs: listed } = binding;
  if (source.kind === 'class') return constructing(source.target as new () => unknown, needs);
  if (source.kind === 'value') return () => source.value;
  if (source.kind === 'alias') return needs[0] as Resolver;
  if (source.kind === 'register') {
    const slot = home.slotOf(source.at);
    const give: Resolver = (scope) => (scope.slots[slot] as Resolver)(scope);
    return (scope) => traced(scope, key, give);
  }
  const call = source.make as (...needs: unknown[]) => unknown;
  if (!listed) return (scope) => traced(scope, key, (asked) => called(call, asked));
  const owned = listed.map((dependency) => dependency instanceof All || !home.makesAnew(keyOf(dependency) as Key));
  const callListed: Resolver = (scope) => {
    const things = needs.map((get) => get(scope));
    handed.things.push(...things.filter((_, i) => owned[i]));
    return call(...things);
  };
  return (scope) => called(callListed, scope);
}

function decorated(binding: Binding, inner: Resolver): Resolver {
  const wraps = binding.decorators as ((inner: unknown, scope: Container) => unknown)[] | undefined;
  if (!wraps) return inner;
  const wrapped: Resolver = (scope) => {
    const layers = [inner(scope)];
    const borrowed = handed.on;
    try {
      for (const wrap of wraps) layers.push(wrap(layers.at(-1), scope));
    } catch (error) {
      if (binding.singleton) keep(scope, unfinished(binding, layers.length), layers, borrowed);
      throw error;
    }
    if (binding.singleton) keep(scope, binding, layers, borrowed);
    return layers.at(-1);
  };
  return (scope) => traced(scope, binding.key, wrapped);
}

/** What is left to do for an instance whose decorator threw: it is never started, but ended as far as it was made. */
function unfinished({ key, source, onDispose }: Binding, made: number): Binding {
  const ends = onDispose?.filter(({ layer }) => layer < made) ?? [];
  return { key, source, ...(ends[0] && { onDispose: ends }) };
}
