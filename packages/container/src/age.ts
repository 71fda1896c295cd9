import { setTimeout } from 'node:timers';

let now = 0;
let fresh = false;

/** Tenths of a second since the process started. Read from the clock at most ten times a second: a reading costs as much as opening a scope. */
export function tenths(): number {
  if (!fresh) {
    fresh = true;
    // A small integer: V8 would box any other number anew for each scope.
    now = (performance.now() / 100) | 0;
    setTimeout(() => (fresh = false), 100).unref();
  }
  return now;
}

/** How long ago that was, for people. */
export const ago = (then: number): string => `${((performance.now() - then * 100) / 1000).toFixed(1)} s ago`;
