import type { Binding } from './binding.js';
import { ContainerError, show, showTags } from './errors.js';
import { keyOf, kindOf, type Key } from './keys.js';
import { keysOf, place, places, type Place } from './places.js';
import type { Shape } from './shape.js';

/** A dependency that a scope below has an instance of its own of, which the service does not get there. */
export interface Split {
  /** The keys from the service to the dependency, with the transients between them. */
  readonly path: readonly Key[];
  /** Where the service gets the dependency from. */
  readonly used: Shape;
}

/** The keys that are registered again between `home` and the scope below it, unless `allowSplit()` says that it is meant. */
function againBelow(home: Shape, inner: Shape): Set<Key> {
  const again = keysOf(inner).filter((key) => {
    const [nearest] = places(inner, key);
    return nearest?.owner.isBelow(home) && !nearest.binding.allowSplit;
  });
  return new Set(again);
}

/** Whether scopes of the inner shape resolve the key to something that belongs below `home`. */
const isOwn = (key: Key, home: Shape, inner: Shape): boolean => place(inner, key)?.owner.isBelow(home) ?? false;

/** How a service gets another one. */
interface Path {
  readonly path: readonly Key[];
  readonly found: Place | undefined;
}

/**
 * How an instance of the binding, made in scopes of the shape `home`, gets one of the keys: by its own list, or by that of a transient, which is
 * made for the service that asks for it. A dependency of the kind `except` is none of these ways; what is behind an `all` is.
 */
export function pathsTo(keys: ReadonlySet<Key>, binding: Binding, home: Shape, except: 'all' | 'lazy'): Path[] {
  const paths: Path[] = [];
  const seen = new Set<Binding>();
  const open: Path[] = [{ path: [binding.key], found: { binding, owner: home } }];
  for (const { path, found } of open) {
    if (!found || seen.has(found.binding)) continue;
    seen.add(found.binding);
    for (const dependency of home.dependencies(found.binding)) {
      const key = keyOf(dependency);
      const kind = kindOf(dependency);
      if (key === undefined || (kind === 'lazy' && except === kind)) continue;
      const all = kind === 'all' ? places(home, key) : [place(home, key)];
      const next = { path: [...path, key], found: all[0] };
      if (keys.has(key) && kind !== except) paths.push(next);
      else for (const one of all) if (!one?.binding.singleton) open.push({ path: next.path, found: one });
    }
  }
  return paths;
}

/**
 * What the singleton, made in scopes of the shape `home`, depends on and scopes of the inner shape have again. An inner scope that has the service
 * itself again gets a consistent one. `all()` is no split: the inner scope's list has what the outer one's has, and more.
 */
export function splitsOf(binding: Binding, home: Shape, inner: Shape, again = againBelow(home, inner)): Split[] {
  if (!binding.singleton || binding.allowSplit || again.size === 0 || isOwn(binding.key, home, inner)) return [];
  const paths = pathsTo(again, binding, home, 'all');
  return paths.flatMap(({ path, found }) => (found ? { path, used: found.owner } : []));
}

/** Each service that would keep the dependency of an outer scope where an inner scope has one of its own. */
export const splitKeys = (shapes: readonly Shape[]): ContainerError[] =>
  shapes.flatMap((home) => {
    const inside = shapes.filter((shape) => shape.isBelow(home));
    const own = inside[0] ? keysOf(home).flatMap((key) => places(home, key).filter((one) => isKept(one, home))) : [];
    return inside.flatMap((inner) => {
      const again = againBelow(home, inner);
      return own.flatMap(({ binding }) =>
        splitsOf(binding, home, inner, again).map((split) => problem(binding, home, inner, split)),
      );
    });
  });

const isKept = ({ binding, owner }: Place, home: Shape): boolean => owner === home && binding.singleton === true;

function problem({ key, declared }: Binding, home: Shape, inner: Shape, { path, used }: Split): ContainerError {
  const shown = show(key);
  const both = `['${nameOf(home)}', '${nameOf(inner)}']`;
  const how = declared
    ? `of(${both}, ...) in place of of('${nameOf(home)}', ...)`
    : `add the same registration with scope(hasTag('${nameOf(inner)}'))`;
  return new ContainerError('AMBIT_SPLIT_KEY', {
    key,
    about: `Split key: ${shown} of ${showTags(home.lineage)} keeps the ${show(path.at(-1))} of ${showTags(used.lineage)} also in ${showTags(inner.lineage)}, which has its own`,
    path,
    tags: home.lineage,
    hint: `register ${shown} for both scopes, so that each has one with its own ${show(path.at(-1))}: ${how}. If it is meant to keep the outer one, add allowSplit()`,
  });
}

const nameOf = ({ tags }: Shape): string => tags[0] ?? 'no tags';

/** The same in words, for `explain()`. */
export const sayOf = ({ path, used }: Split, inner: Shape): string =>
  `its ${show(path.at(-1))} is that of ${showTags(used.lineage)}, although ${showTags(inner.lineage)} has its own`;
