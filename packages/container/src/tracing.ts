import type { Key } from './keys.js';
import type { Resolver, Scope, Shape } from './shape.js';

/** A factory or decorator that is running. */
interface Frame {
  readonly key: Key;
  readonly shape: Shape;
  /** What `resolve` was called for, and by scopes of which shape, if it was since the frame before. */
  readonly root: Key | undefined;
  readonly rootShape: Shape | undefined;
  readonly before: Frame | undefined;
  readonly depth: number;
}

/** What is being resolved right now. */
export interface Progress {
  /** How many calls of `resolve` are making something. */
  resolving: number;
  /** The factories that are running, the latest first. */
  running: Frame | undefined;
  /** What `resolve` was called for last, and by scopes of which shape. */
  root: Key | undefined;
  rootShape: Shape | undefined;
}

export const progress: Progress = { resolving: 0, running: undefined, root: undefined, rootShape: undefined };

/** What `resolve` calls for a key that always makes something. */
export const fresh =
  (shape: Shape, key: Key, get: Resolver): Resolver =>
  (scope) => {
    progress.root = key;
    progress.rootShape = shape;
    progress.resolving++;
    try {
      return get(scope);
    } finally {
      progress.resolving--;
    }
  };

// A factory that runs within itself so many times, also through child scopes, is a circular dependency.
const MOST_ROUNDS = 100;
/** The longest chain of services that are made within one another. */
export const MOST_DEEP = 1000;

/** Calls a factory or decorator, which may call `resolve` itself; throws what `problem` returns where that never ends. */
export const within =
  (shape: Shape, key: Key, get: Resolver, problem: (isCircular: boolean) => Error): Resolver =>
  (scope: Scope) => {
    const { running: before, root, rootShape } = progress;
    const depth = before ? before.depth + 1 : 0;
    if (depth > MOST_ROUNDS) {
      const times = rounds(key);
      if (times > MOST_ROUNDS || depth > MOST_DEEP) throw problem(times > 0);
    }
    progress.running = { key, shape, root, rootShape, before, depth };
    progress.root = progress.rootShape = undefined;
    try {
      return get(scope);
    } finally {
      progress.running = before;
      progress.root = root;
      progress.rootShape = rootShape;
    }
  };

function rounds(key: Key): number {
  let count = 0;
  for (let frame = progress.running; frame; frame = frame.before) if (frame.key === key) count++;
  return count;
}
