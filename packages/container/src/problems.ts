import { ContainerError, show, showTags } from './errors.js';
import { keyOf, type Key } from './keys.js';
import type { Binding } from './registration.js';
import type { Shape } from './shape.js';
import { trail } from './trail.js';

/** One binding on the way from the key that was asked for; scopes of the shape `home` deliver what it needs. */
export interface Step {
  readonly binding: Binding;
  readonly home: Shape;
  /** What comes next is asked for later, and so closes no circle. */
  readonly later?: true;
}

/** One walk over bindings: `resolve` ends at the first problem, `verify` collects them all. */
export interface Walk {
  /** Shapes whose scopes may ask. */
  readonly shapes: readonly Shape[];
  /** True if nothing is to be made of it. */
  readonly dry?: true;
  report(problem: ContainerError): undefined;
}

const keysOf = (path: readonly Step[]) => path.map((step) => step.binding.key);

export const keyless = (i: number, { key, source }: Binding, home: Shape, path: readonly Step[]): ContainerError =>
  new ContainerError('AMBIT_NO_KEY_FOR_PARAMETER', {
    key,
    about: `parameter ${i} of ${show(source.kind === 'class' ? source.target : key)}`,
    path: keysOf(path),
    tags: home.lineage,
    hint: 'name it with @inject(key) or in the list of keys; a key is undefined, too, where two modules import each other',
  });

/** The whole way to the key that is asked for now, with the dependencies between one entry of the trail and the next. */
const wholeTrail = (shape: Shape, last: Key): Key[] =>
  [...trail.keys.slice(0, trail.depth), last].flatMap((key, i, keys) => {
    const next = keys[i + 1];
    return next === undefined || key === next ? [] : [key, ...(between(shape, key, next, new Set()) ?? [])];
  });

function between(shape: Shape, from: Key, to: Key, seen: Set<Key>): Key[] | undefined {
  const place = seen.has(from) ? undefined : shape.place(from);
  seen.add(from);
  for (const dependency of place ? shape.dependencies(place.binding) : []) {
    const key = keyOf(dependency);
    if (key === to) return [];
    const rest = key !== undefined && between(shape, key, to, seen);
    if (rest) return [key, ...rest];
  }
  return undefined;
}

/** Who asked whom, from the first `resolve` to the one who asks for the key. */
const trailTo = (key: Key, home: Shape, path: readonly Step[]): Key[] => [
  ...wholeTrail(home, path[0]?.binding.key ?? key),
  ...keysOf(path),
];

/** The path ends in a circle: with the key, the way round, and the key again. */
export function cycle(key: Key, home: Shape, path: readonly Step[]): ContainerError {
  const way = trailTo(key, home, path);
  if (!way.includes(key)) way.push(key);
  return new ContainerError('AMBIT_CYCLE', {
    key,
    path: [...way.slice(0, way.indexOf(key)), ...way.slice(way.lastIndexOf(key)), key],
    tags: home.lineage,
    hint: `let one of them ask for it later with lazy(${show(key)}), or move what both need into a third service`,
  });
}

/** Why the key is not to be had at `home`: shorter-lived than the one who asks, known elsewhere only, or unknown. */
export function missing(key: Key, home: Shape, path: readonly Step[], walk: Walk): ContainerError {
  const details = { key, path: [...trailTo(key, home, path), key], tags: home.lineage };
  const shown = show(key);
  const holder = path.findLast((step) => step.home === home && step.binding.singleton)?.binding.key ?? factoryAt(home);
  const asked = tagsAsked(home.reachable(key), home);
  const below = [...walk.shapes, ...trail.shapes.slice(0, trail.depth)].find(
    (shape) => shape.isBelow(home) && shape.places(key)[0],
  );
  // `verify` knows all scopes there will be.
  const elsewhere = walk.dry ? undefined : asked && `scopes with ${asked}`;
  const lives = below ? showTags(below.place(key)?.owner.lineage ?? []) : elsewhere;
  if (holder !== undefined && lives)
    return new ContainerError('AMBIT_SHORTER_LIFE', {
      ...details,
      about: `${show(holder)} of ${showTags(home.lineage)} outlives ${shown} of ${lives}`,
      hint: `give ${show(holder)} that life too, or pass ${shown} to its methods, or open a scope where it is needed`,
    });
  if (asked)
    return new ContainerError('AMBIT_OUT_OF_SCOPE', {
      ...details,
      hint: `its predicate asked for ${asked}, and accepts neither this scope nor one around it`,
    });
  const near = home.keys().find((known) => alike(known, key));
  return new ContainerError('AMBIT_NOT_REGISTERED', {
    ...details,
    hint:
      near === undefined
        ? `add a registration .to(${shown}), or register it by hand on the scope that asks: register(${shown}, () => value)`
        : `did you mean ${show(near)}?`,
  });
}

/** The singleton whose factory resolves right now, if it does so from a scope of this shape. */
function factoryAt(home: Shape): Key | undefined {
  const key = trail.shapes[trail.depth - 1] === home ? trail.keys[trail.depth - 1] : undefined;
  return key !== undefined && home.place(key)?.binding.singleton ? key : undefined;
}

/** The tags that the predicates asked this shape for in vain; undefined where there are no bindings. */
export function tagsAsked(bindings: readonly Binding[], shape: Shape): string | undefined {
  const asked = new Set<string>();
  for (const { when } of bindings) when?.({ hasTag: (tag) => shape.hasTag(tag) || !asked.add(tag) });
  return bindings[0] && ([...asked].map(show).join(' or ') || 'something else');
}

/** True when one letter more, less, other, or swapped with its neighbour turns one into the other; case does not count. */
function alike(known: Key, key: Key): boolean {
  if (typeof known !== 'string' || typeof key !== 'string' || key.length < 3) return false;
  const [one, two] = [known.toLowerCase(), key.toLowerCase()];
  let same = 0;
  while (same < one.length && one[same] === two[same]) same++;
  const [x, y] = [one.slice(same), two.slice(same)];
  const swapped = x[0] === y[1] && x[1] === y[0] && x.slice(2) === y.slice(2);
  return swapped || x.slice(1) === y || x === y.slice(1) || x.slice(1) === y.slice(1);
}
