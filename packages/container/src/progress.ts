import type { Key } from './keys.js';
import type { Resolver, Shape } from './shape.js';

/** A key that `resolve` is called for, and the shape of its scope. */
export interface Root {
  readonly key: Key;
  readonly shape: Shape;
}

/** A factory or decorator that is running. */
interface Frame {
  readonly key: Key;
  readonly shape: Shape;
  /** The last call of `resolve` since the frame before. */
  readonly root: Root | undefined;
  readonly before: Frame | undefined;
  readonly depth: number;
}

/** The resolution in progress. */
export interface Progress {
  /** How many calls of `resolve` are making something. */
  resolving: number;
  /** The factories that are running, the latest first. */
  running: Frame | undefined;
  /** The last call of `resolve`. */
  root: Root | undefined;
}

export const progress: Progress = { resolving: 0, running: undefined, root: undefined };

/** The calls of factories and decorators that are running, and of the `resolve` between them, the latest first. */
export function* unfinished(): Generator<Root> {
  for (let frame = progress.running; frame; frame = frame.before) {
    yield frame;
    if (frame.root) yield frame.root;
  }
}

/** The resolver of a key that always makes something. */
export const fresh = (shape: Shape, key: Key, get: Resolver): Resolver => {
  const root = { key, shape };
  return (scope) => {
    progress.root = root;
    progress.resolving++;
    try {
      return get(scope);
    } finally {
      progress.resolving--;
    }
  };
};

// A factory that runs within itself so many times, also through child scopes, is a circular dependency.
const MOST_ROUNDS = 100;
/** The longest chain of services that are made within one another. */
export const MOST_DEEP = 1000;

/** Calls a factory or decorator, which may call `resolve` itself; throws what `problem` returns where that never ends. */
export const runFrame =
  (shape: Shape, key: Key, get: Resolver, problem: (isCircular: boolean) => Error): Resolver =>
  (scope) => {
    const { running: before, root } = progress;
    const depth = before ? before.depth + 1 : 0;
    if (depth > MOST_ROUNDS) {
      const times = rounds(key);
      if (times > MOST_ROUNDS || depth > MOST_DEEP) throw problem(times > 0);
    }
    progress.running = { key, shape, root, before, depth };
    progress.root = undefined;
    try {
      return get(scope);
    } finally {
      progress.running = before;
      progress.root = root;
    }
  };

function rounds(key: Key): number {
  let count = 0;
  for (let frame = progress.running; frame; frame = frame.before) if (frame.key === key) count++;
  return count;
}
