import type { Binding } from './registration.js';
import { ContainerError, hintOf, show, showTags } from './errors.js';
import { keyOf, kindOf, type Key } from './keys.js';
import { MOST_DEEP, progress, type Resolver, runFrame, type Shape, unfinished } from './shape.js';

/** One binding on the path from the key that was asked for; scopes of the shape `home` deliver what it needs. */
export interface Step {
  readonly binding: Binding;
  readonly home: Shape;
  readonly before: Step | undefined;
  /** The key of the singleton that holds what comes next, at the same home. */
  readonly holder: Key | undefined;
}

/** The scopes in which the reason of a problem is searched. */
export interface Search {
  readonly shapes: readonly Shape[];
  /** `verify` searches; nothing is made. */
  readonly dry?: true;
  /** For how many keys a similar one was looked for. */
  hinted: number;
}

export function pathOf(last: Step | undefined): Key[] {
  const keys: Key[] = [];
  for (let step = last; step; step = step.before) keys.push(step.binding.key);
  return keys.toReversed();
}

export const keyless = (i: number, { key, source }: Binding, home: Shape, path: Step): ContainerError =>
  new ContainerError('AMBIT_NO_KEY_FOR_PARAMETER', {
    key,
    about: `Parameter ${i} of ${show(source.kind === 'class' ? source.target : key)}`,
    path: pathOf(path),
    tags: home.lineage,
    hint: 'list its key, or name it with @inject(key), which Babel and Vite may drop; a key is also undefined where two modules import each other',
  });

/** The whole path to the key that is asked for now, with the dependencies between one `resolve` and the next. */
function wholePath(shape: Shape, ...keys: Key[]): Key[] {
  const path = [...keys, ...Array.from(unfinished(), ({ key }) => key)].toReversed();
  return path.flatMap((key, i) => {
    const next = path[i + 1];
    return next === undefined || key === next
      ? []
      : [key, ...(between(shape, key, new Set([next]))?.slice(0, -1) ?? [])];
  });
}

/** The path from the key to the nearest of the goals, which is its last key. A loop, as chains may be longer than calls. */
export function between(shape: Shape, from: Key, goals: ReadonlySet<Key>): Key[] | undefined {
  const cameFrom = new Map<Key, Key>([[from, from]]);
  for (const [at] of cameFrom) {
    const found = shape.match(at);
    for (const dependency of found ? shape.dependencies(found.binding) : []) {
      const key = keyOf(dependency);
      if (key === undefined || kindOf(dependency) === 'lazy') continue;
      if (!cameFrom.has(key)) cameFrom.set(key, at);
      if (!goals.has(key)) continue;
      const path = [key];
      for (let back = at; back !== from; back = cameFrom.get(back) as Key) path.unshift(back);
      return path;
    }
  }
  return undefined;
}

/** The dependencies from the first `resolve` to the dependent of the key. */
const pathTo = (key: Key, home: Shape, path: readonly Key[]): Key[] => [...wholePath(home, path[0] ?? key), ...path];

/** A circular dependency: its path ends with the key, what lies between, and the key again. */
export function cycle(key: Key, home: Shape, path?: readonly Key[]): ContainerError {
  const all = path ? pathTo(key, home, path) : wholePath(home, key, progress.root?.key ?? key);
  if (!all.includes(key)) all.push(key);
  const shown = show(key);
  return new ContainerError('AMBIT_CYCLE', {
    key,
    path: [...all.slice(0, all.indexOf(key)), ...all.slice(all.lastIndexOf(key)), key],
    tags: home.lineage,
    hint: `let ${show(all.at(-1))} ask for lazy(${shown}) instead of ${shown}, a function to call later than in the constructor, or move what both need into a third service`,
  });
}

/** Why a chain of dependencies is so long: it is circular, or it is long. */
export function endless(last: Step): ContainerError {
  const path = pathOf(last);
  const rest = between(last.home, path.at(-1) as Key, new Set(path));
  return rest ? cycle(rest.pop() as Key, last.home, [...path, ...rest]) : tooDeep(path, last.home);
}

const tooDeep = (path: readonly Key[], home: Shape): ContainerError =>
  new ContainerError('AMBIT_TOO_DEEP', {
    key: path[0],
    path,
    tags: home.lineage,
    hint: `of ${MOST_DEEP}, each made within the one before: let one ask for the next with lazy()`,
  });

/** Calls what may resolve more, so that errors show the path, and a circular dependency through factories is found. */
export const traced = (shape: Shape, key: Key, get: Resolver): Resolver =>
  runFrame(shape, key, get, (isCircular) =>
    isCircular ? cycle(key, shape) : tooDeep(wholePath(shape, key, progress.root?.key ?? key), shape),
  );

const MOST_HINTS = 200;

/** Why the key is not available at `home`: its lifetime is too short for its dependent, it is registered for other scopes, or nowhere. */
export function missing(key: Key, home: Shape, path: Step | undefined, search: Search): ContainerError {
  const details = { key, path: [...pathTo(key, home, pathOf(path)), key], tags: home.lineage };
  const shown = show(key);
  const holder = holderAt(home, path);
  const asked = tagsAsked(home.reachable(key), home);
  const deeper = shapeBelowWith(key, home, search);
  // `verify` knows all kinds of scopes there will be.
  const elsewhere = search.dry ? undefined : asked && `scopes with ${asked}`;
  const lifetime = deeper ? showTags(deeper.match(key)?.owner.lineage ?? []) : elsewhere;
  if (holder !== undefined && lifetime)
    return new ContainerError('AMBIT_CAPTIVE_DEPENDENCY', {
      ...details,
      about: `${show(holder)} of ${showTags(home.lineage)} outlives ${shown} of ${lifetime}`,
      hint: `give ${show(holder)} the same lifetime, or pass ${shown} to its methods, or open a scope where it is needed`,
    });
  if (asked)
    return new ContainerError('AMBIT_OUT_OF_SCOPE', {
      ...details,
      hint: `it is for scopes with ${asked}; ${hintOf(asked, search.dry ? '' : 'tag') ?? 'neither this scope nor one around it has that'}`,
    });
  // A search through all keys for each of thousands of problems would take too long.
  const near = search.hinted++ < MOST_HINTS ? home.keys().find((known) => alike(known, key)) : undefined;
  return new ContainerError('AMBIT_NOT_REGISTERED', {
    ...details,
    hint:
      near === undefined
        ? (hintOf(key, search.dry ? 'verify' : 'resolve') ??
          `add an entry to the graph or a registration .to(${shown}), or${search.dry ? `, only if it is registered on a scope that is opened, declare that scope: { tags: ['transaction'], registers: [${shown}] }` : ` register it directly on the scope that resolves it: scope.register(${shown}, () => value)`}`)
        : `did you mean ${show(near)}?`,
  });
}

/** A shape below that has the key. */
export const shapeBelowWith = (key: Key, home: Shape, { shapes }: Search): Shape | undefined =>
  [...shapes, ...Array.from(unfinished(), ({ shape }) => shape).toReversed()].find(
    (shape) => shape.isBelow(home) && shape.matches(key)[0],
  );

/** The singleton of this shape that would hold what is missing: the nearest on the path, or the one whose factory resolves right now. */
function holderAt(home: Shape, path: Step | undefined): Key | undefined {
  if (path?.holder !== undefined) return path.holder;
  const frame = progress.running;
  return frame?.shape === home && home.match(frame.key)?.binding.singleton ? frame.key : undefined;
}

/** The tags that the predicates asked for and this shape does not have; undefined where there are no bindings. */
export function tagsAsked(bindings: readonly Binding[], shape: Shape): string | undefined {
  const asked = new Set<string>();
  for (const { when } of bindings) when?.({ hasTag: (tag) => shape.hasTag(tag) || !asked.add(tag) });
  return bindings[0] && ([...asked].map(show).join(' or ') || 'what its predicate asks for');
}

/**
 * True when one letter more, less, other, or swapped with its neighbour turns one into the other; case does not count.
 *
 * @param known - a key that is registered
 * @param key - one that is not
 * @returns whether it may be misspelt
 *
 * @example
 * ```ts
 * import { alike } from '@ambit/container/tools';
 * alike('IUsers', 'IUser'); // true
 * ```
 */
export function alike(known: Key, key: Key): boolean {
  if (typeof known !== 'string' || typeof key !== 'string' || key.length < 3) return false;
  if (Math.abs(known.length - key.length) > 1) return false;
  const [one, two] = [known.toLowerCase(), key.toLowerCase()];
  let same = 0;
  while (same < one.length && one[same] === two[same]) same++;
  const [x, y] = [one.slice(same), two.slice(same)];
  const swapped = x[0] === y[1] && x[1] === y[0] && x.slice(2) === y.slice(2);
  return swapped || x.slice(1) === y || x === y.slice(1) || x.slice(1) === y.slice(1);
}
