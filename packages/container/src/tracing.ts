import type { Key } from './keys.js';
import type { Resolver, Scope, Shape } from './shape.js';

/** A factory or decorator that is running. */
export interface Frame {
  readonly key: Key;
  readonly shape: Shape;
  /** What `resolve` was called for, and by scopes of which shape, if it was since the frame before. */
  readonly root: Key | undefined;
  readonly rootShape: Shape | undefined;
  readonly before: Frame | undefined;
  readonly depth: number;
}

// What is being resolved right now: the factories that are running, and what `resolve` was called for last.
let current: Frame | undefined;
let root: Key | undefined;
let rootShape: Shape | undefined;

/** How many calls of `resolve` are making something right now. */
export const progress = { resolving: 0 };

/** The factories that are running, the latest first. */
export const running = (): Frame | undefined => current;

/** What `resolve` was called for last. */
export const asked = (): Key | undefined => root;

/** Notes that `resolve` was called for the key and is making something. */
export function began(key: Key, shape: Shape): void {
  root = key;
  rootShape = shape;
}

/** What `resolve` calls for a key that always makes something. */
export const fresh =
  (shape: Shape, key: Key, get: Resolver): Resolver =>
  (scope) => {
    began(key, shape);
    progress.resolving++;
    try {
      return get(scope);
    } finally {
      progress.resolving--;
    }
  };

/** Runs a factory or decorator, which may call `resolve` itself. */
export function within(frame: Frame, get: Resolver, scope: Scope): unknown {
  current = frame;
  root = rootShape = undefined;
  try {
    return get(scope);
  } finally {
    current = frame.before;
    root = frame.root;
    rootShape = frame.rootShape;
  }
}

export const frameFor = (key: Key, shape: Shape): Frame => ({
  key,
  shape,
  root,
  rootShape,
  before: current,
  depth: current ? current.depth + 1 : 0,
});
