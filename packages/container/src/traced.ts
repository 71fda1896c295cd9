import type { Container } from './container.js';
import type { Resolver } from './templates.js';
import type { Key } from './keys.js';
import { cycle } from './problems.js';
import type { Shape } from './shape.js';
import { frameFor, running, within } from './tracing.js';

// A recursion through factories may have so many rounds, be it through scopes of its own; then it is a cycle.
const MOST_ROUNDS = 100;

/** Calls what may resolve more, so that errors can tell the path, and a cycle through factories is found. */
export const traced =
  (shape: Shape, key: Key, get: Resolver): Resolver =>
  (scope: Container) => {
    const frame = frameFor(key, shape);
    if (frame.depth > MOST_ROUNDS && rounds(key) > MOST_ROUNDS) throw cycle(key, shape, undefined);
    return within(frame, get, scope);
  };

function rounds(key: Key): number {
  let count = 0;
  for (let frame = running(); frame; frame = frame.before) if (frame.key === key) count++;
  return count;
}
