import type { Key } from './keys.js';
import { plan, type Plan } from './plan.js';
import type { Shape } from './shape.js';

/** The keys being resolved right now, the outermost first: what `resolve` was called with, and the factories that called it. */
export const trail = { keys: [] as Key[], depth: 0 };

/** Factories that resolve one another this deep go in a circle. */
export const DEEPEST = 500;

/** The whole way to where we are, including the dependencies between one entry of the trail and the next. */
export function wholeTrail(shape: Shape): Key[] {
  const keys = trail.keys.slice(0, trail.depth);
  return keys.flatMap((key, i) => {
    const next = keys[i + 1];
    if (key === next) return [];
    const place = next === undefined ? undefined : shape.place(key);
    const start = place && plan(shape, place);
    return [key, ...((start && way(start, next as Key)) ?? [])];
  });
}

/** The keys strictly between the plan and the dependency with key `to`, if it has one. */
function way(from: Plan, to: Key): Key[] | undefined {
  for (const { plans } of from.needs)
    for (const next of plans) {
      if (next.binding.key === to) return [];
      const rest = way(next, to);
      if (rest) return [next.binding.key, ...rest];
    }
  return undefined;
}
