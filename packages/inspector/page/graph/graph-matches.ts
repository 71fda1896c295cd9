import type { ServiceNode } from '../../src/wire.js';
import type { Boxes } from './graph-boxes.js';
import type { GraphIndex } from './graph-index.js';
import { searchServices } from './graph-search.js';

/** The services that a search has found, marked in the drawing, and the one it is at. */
export class Matches {
  position = -1;
  #found: readonly ServiceNode[] = [];
  #marked: readonly HTMLElement[] = [];

  search({ view }: GraphIndex, text: string): number {
    this.#found = searchServices(view.nodes, text);
    this.position = -1;
    return this.#found.length;
  }

  move(by: -1 | 1): ServiceNode | undefined {
    const { length } = this.#found;
    this.position = this.position === -1 && by === -1 ? length - 1 : (this.position + by + length) % length;
    return this.#found[this.position];
  }

  mark(boxes: Boxes): void {
    for (const element of this.#marked) element.classList.remove('match');
    this.#marked = this.#found.flatMap(({ id }) => boxes.seen(id) ?? []);
    for (const element of this.#marked) element.classList.add('match');
  }
}
