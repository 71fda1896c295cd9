import { dependencies } from './compile.js';
import type { Container } from './container.js';
import type { Resolver } from './fast.js';
import type { Key } from './keys.js';
import { cycle } from './problems.js';
import type { Shape } from './shape.js';

/** The keys being resolved right now, the outermost first: those `resolve` was called with, and those whose factories called it. */
export const trail = { keys: [] as Key[], depth: 0 };

// Factories that resolve one another this deep go in a circle.
const DEEPEST = 500;

/** Calls what may resolve more, so that errors can tell the way. */
export function traced(scope: Container, key: Key, get: Resolver): unknown {
  const { depth } = trail;
  if (depth === DEEPEST) throw cycle(key, scope.shape, []);
  trail.keys[depth] = key;
  trail.depth = depth + 1;
  try {
    return get(scope);
  } finally {
    trail.depth = depth;
  }
}

/** The whole way to where we are, with the dependencies between one entry of the trail and the next. */
export const wholeTrail = (shape: Shape): Key[] =>
  trail.keys
    .slice(0, trail.depth)
    .flatMap((key, i, keys) =>
      key === keys[i + 1] ? [] : [key, ...(between(shape, key, keys[i + 1], new Set()) ?? [])],
    );

function between(shape: Shape, from: Key, to: Key | undefined, seen: Set<Key>): Key[] | undefined {
  const place = seen.has(from) ? undefined : shape.place(from);
  seen.add(from);
  for (const dependency of place && to !== undefined ? dependencies(place.binding, shape) : []) {
    const key = typeof dependency === 'object' ? dependency.key : dependency;
    if (key === to) return [];
    const rest = key !== undefined && between(shape, key, to, seen);
    if (rest) return [key, ...rest];
  }
  return undefined;
}
