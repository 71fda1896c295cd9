import type { Injector } from './inject.js';
import type { Key } from './keys.js';

const MOST_SHAPES = 1000;
/** Of so many bindings there may be functions of their own: V8 has to compile each, so there cannot be many. */
export const MOST_COPIES = 1000;

/** What all shapes of one application share. */
export class Plans {
  /** Keys that services ask for. Any other may be registered on a scope without a change of its shape. */
  readonly asked = new Set<Key>();
  /** How many bindings have functions of their own. */
  copies = 0;
  private readonly cached = new Map<object, () => void>();

  constructor(readonly injector: Injector) {}

  /** Shapes are cached for reuse, not for keeps: tags made from data must not pile up. The oldest goes. */
  cache(shape: object, forget: () => void): void {
    this.cached.set(shape, forget);
    const [oldest] = this.cached;
    if (this.cached.size <= MOST_SHAPES || !oldest) return;
    this.cached.delete(oldest[0]);
    oldest[1]();
  }

  uncache(shape: object): void {
    this.cached.delete(shape);
  }
}
