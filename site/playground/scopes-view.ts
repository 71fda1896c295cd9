import { lastOf } from '../../packages/inspector/page/format.js';
import { GraphCanvas } from '../../packages/inspector/page/graph/graph-canvas.js';
import type { GraphView } from '../../packages/inspector/src/wire.js';
import type { Step } from './messages.js';

/** The graph and the scopes, drawn as the inspector draws them. */
export class ScopesView {
  readonly #canvas: GraphCanvas = new GraphCanvas((service) => this.#canvas.choose(service));
  readonly #open = new Set<string>();
  readonly #lit = new Set<string>();

  constructor(place: HTMLElement) {
    place.append(this.#canvas.element);
  }

  draw(view: GraphView): void {
    this.#canvas.load(view);
    const [problem] = view.problems;
    if (problem) this.#canvas.trace(problem);
    else this.#canvas.choose(undefined);
  }

  clear(): void {
    this.#open.clear();
    this.#lit.clear();
    this.draw({ boxes: [], nodes: [], edges: [], problems: [] });
  }

  show({ what, box, key }: Step): void {
    const { drawing, index } = this.#canvas;
    const id = key === undefined ? undefined : index.value?.idOf(box, key);
    if (what === 'opened') this.#open.add(box);
    else if (what === 'closed') this.#close(box);
    else if (what === 'created' && id !== undefined) this.#lit.add(id);
    else if (id !== undefined) this.#lit.delete(id);
    drawing.mark('open', [index.value?.root ?? '', ...this.#open]);
    drawing.mark('lit', this.#lit);
    drawing.created.value = what === 'created' ? id : undefined;
  }

  /** Services without a disposer are not disposed one by one. */
  #close(box: string): void {
    this.#open.delete(box);
    for (const id of this.#lit) if (this.#canvas.index.value?.nodes.get(id)?.box === box) this.#lit.delete(id);
  }
}

/** A step in words. */
export function sentence({ what, box, key = '', error }: Step): string {
  const scope = `${lastOf(box)} scope`;
  if (what === 'opened') return `The ${scope} opens`;
  if (what === 'closed') return `The ${scope} is disposed`;
  if (what === 'created') return `${key} is created in the ${scope}`;
  return error === undefined ? `${key} is disposed` : `${key} failed to dispose: ${error}`;
}
