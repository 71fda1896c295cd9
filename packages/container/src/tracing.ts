import type { Container } from './container.js';
import type { Resolver } from './fast.js';
import type { Key } from './keys.js';
import { cycle } from './problems.js';
import type { Shape } from './shape.js';
import { handed, trail } from './trail.js';

// Factories on their way for the first time are not in a circle, nor are the first few rounds of a recursion that ends.
const MOST_ROUNDS = 20;

const rounds = (key: Key, shape: Shape): number =>
  trail.keys.filter((one, i) => one === key && i < trail.depth && trail.shapes[i] === shape).length;

/** Calls what may resolve more, so that errors can tell the way. */
export function traced(scope: Container, key: Key, get: Resolver): unknown {
  const { depth } = trail;
  if (depth > MOST_ROUNDS && rounds(key, scope.shape) > MOST_ROUNDS) throw cycle(key, scope.shape, []);
  trail.keys[depth] = key;
  trail.shapes[depth] = scope.shape;
  trail.depth = depth + 1;
  try {
    return get(scope);
  } finally {
    trail.depth = depth;
  }
}

/** Calls a factory, and notes whether what it returns was handed to it by an owner: then it has made nothing. */
export function called(make: (scope: Container) => unknown, scope: Container): unknown {
  const { things } = handed;
  let mark = things.length;
  handed.factories++;
  try {
    const made = make(scope);
    handed.on = things.slice(mark).flat().includes(made);
    // The factory that asked this one for it was handed it, too.
    if (handed.on && handed.factories > 1) things[mark++] = made;
    return made;
  } finally {
    handed.factories--;
    things.length = mark;
  }
}
