import type { GraphIndex } from './graph-index.js';
import type { Store } from '../stream/store.js';

/** The application singletons that exist: those seen being created, and those that a created service depends on. */
export class Alive {
  readonly #index: GraphIndex;
  readonly #store: Store;
  readonly #ids = new Set<string>();
  #counted = -1;

  constructor(index: GraphIndex, store: Store) {
    this.#index = index;
    this.#store = store;
  }

  /** Those that are new. Only a service that was never created before can bring some. */
  takeNew(): string[] {
    const { services } = this.#store;
    if (services.size === this.#counted) return [];
    this.#counted = services.size;
    const before = this.#ids.size;
    const { view, root } = this.#index;
    for (const { id, box, key, kind } of view.nodes)
      if ((kind === 'value' && box === root) || this.#store.stats(box, key)) this.#add(id);
    return [...this.#ids].slice(before);
  }

  #add(id: string): void {
    const node = this.#index.nodes.get(id);
    const isInRoot = node?.box === this.#index.root;
    if (isInRoot && (this.#ids.has(id) || !(node.singleton || node.kind === 'value'))) return;
    if (isInRoot) this.#ids.add(id);
    for (const { to, kind } of this.#index.dependencies(id)) if (kind === 'one' || kind === 'optional') this.#add(to);
  }
}
