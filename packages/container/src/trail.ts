import { dependencies } from './compile.js';
import type { Container } from './container.js';
import type { Resolver } from './fast.js';
import type { Key } from './keys.js';
import { cycle } from './problems.js';
import type { Shape } from './shape.js';

/** The keys being resolved right now, and the shapes of the scopes they are resolved from, the outermost first: what `resolve` was called with, and the factories that call it. */
export const trail = { keys: [] as Key[], shapes: [] as Shape[], depth: 0 };

// Factories on their way for the first time are not in a circle, nor are the first few rounds of a recursion that ends.
const MOST_ROUNDS = 20;

/** Calls what may resolve more, so that errors can tell the way. */
export function traced(scope: Container, key: Key, get: Resolver): unknown {
  const { depth } = trail;
  if (depth > MOST_ROUNDS && trail.keys.slice(0, depth).filter((one) => one === key).length > MOST_ROUNDS)
    throw cycle(key, scope.shape, []);
  trail.keys[depth] = key;
  trail.shapes[depth] = scope.shape;
  trail.depth = depth + 1;
  try {
    return get(scope);
  } finally {
    trail.depth = depth;
  }
}

/** The whole way to the key that is asked for now, with the dependencies between one entry of the trail and the next. */
export const wholeTrail = (shape: Shape, last: Key): Key[] =>
  [...trail.keys.slice(0, trail.depth), last].flatMap((key, i, keys) => {
    const next = keys[i + 1];
    return next === undefined || key === next ? [] : [key, ...(between(shape, key, next, new Set()) ?? [])];
  });

function between(shape: Shape, from: Key, to: Key, seen: Set<Key>): Key[] | undefined {
  const place = seen.has(from) ? undefined : shape.place(from);
  seen.add(from);
  for (const dependency of place ? dependencies(place.binding, shape) : []) {
    const key = typeof dependency === 'object' ? dependency.key : dependency;
    if (key === to) return [];
    const rest = key !== undefined && between(shape, key, to, seen);
    if (rest) return [key, ...rest];
  }
  return undefined;
}
