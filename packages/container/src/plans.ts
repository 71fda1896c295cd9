import type { Injector } from './inject.js';
import type { Binding } from './binding.js';
import type { Key } from './keys.js';

const MOST_SHAPES = 1500;
/** The most bindings that may have functions of their own, as V8 has to compile each. */
export const MOST_COPIES = 1000;

/** Makes an instance in a scope; what a scope is, only a shape knows. */
type Make = (scope: never) => unknown;

/** Follows what is made, for `observeCreations()`. */
export interface Observer {
  /** Returns what is to be called instead. */
  making(make: Make, binding: Binding): Make;
  /** The key could not be resolved. */
  refused(scope: object, key: Key, error: unknown): void;
}

/** What all shapes of one application share. */
export class Plans {
  /** Keys that services depend on. Any other key may be registered on a scope without a change of its shape. */
  readonly asked = new Set<Key>();
  /** How many bindings have functions of their own. */
  copies = 0;
  /** Whether there ever was an override, which wins over nearer registrations. */
  overridden = false;
  observer?: Observer;
  readonly cached = new Map<object, () => void>();

  constructor(readonly injector: Injector) {}

  /** Keeps at most so many shapes for reuse, as tags may be made from data; drops the oldest. */
  cache(shape: object, forget: () => void): void {
    this.cached.set(shape, forget);
    const [oldest] = this.cached;
    if (this.cached.size <= MOST_SHAPES || !oldest) return;
    this.cached.delete(oldest[0]);
    oldest[1]();
  }
}

const NO_KEY = Symbol('no key');

/** The first four keys of a shape that turned out to be resolved often: to compare four keys is faster than to look into a map. */
export class Often<Resolver> {
  key1: Key = NO_KEY;
  key2: Key = NO_KEY;
  key3: Key = NO_KEY;
  key4: Key = NO_KEY;
  get1: Resolver;
  get2: Resolver;
  get3: Resolver;
  get4: Resolver;

  constructor(nothing: Resolver) {
    this.get1 = this.get2 = this.get3 = this.get4 = nothing;
  }

  add(key: Key, get: Resolver): void {
    if (this.key1 === NO_KEY) [this.key1, this.get1] = [key, get];
    else if (this.key2 === NO_KEY) [this.key2, this.get2] = [key, get];
    else if (this.key3 === NO_KEY) [this.key3, this.get3] = [key, get];
    else if (this.key4 === NO_KEY) [this.key4, this.get4] = [key, get];
  }
}
