import type { Key } from './keys.js';
import type { Shape } from './shape.js';

/**
 * What is being resolved right now, the outermost first: the keys that `resolve` was called with, and those whose factories
 * and decorators call it; and the shapes of the scopes they are resolved from.
 */
export const trail = { keys: [] as Key[], shapes: [] as Shape[], depth: 0 };

/** What the factories at work were handed that has an owner, and whether the one that returned last returned some of that. */
export const handed = { things: [] as unknown[], factories: 0, on: false };
