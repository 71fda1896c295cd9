import { h } from '../../packages/inspector/page/dom.js';
import { lastOf } from '../../packages/inspector/page/format.js';
import { Arrows } from '../../packages/inspector/page/graph-arrows.js';
import { type Boxes, drawBoxes } from '../../packages/inspector/page/graph-boxes.js';
import type { GraphView } from '../../packages/inspector/src/wire.js';
import type { Step } from './messages.js';

/** The graph and the scopes, drawn as the inspector draws them. */
export class ScopesView {
  readonly #canvas: HTMLElement;
  #view: GraphView | undefined;
  #boxes: Boxes | undefined;
  #arrows: Arrows | undefined;

  constructor(canvas: HTMLElement) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#layOut()).observe(canvas);
  }

  draw(view: GraphView): void {
    this.#view = view;
    this.#boxes = drawBoxes(view);
    this.#arrows = new Arrows(view.edges, this.#boxes.nodes);
    // Nothing happens when a service is chosen here, so none is a button for the keyboard.
    for (const node of this.#boxes.nodes.values()) node.disabled = true;
    const content = h('div', { class: 'content' }, this.#boxes.element);
    content.append(this.#arrows.element);
    this.#canvas.replaceChildren(content);
    this.#layOut();
  }

  clear(): void {
    this.#canvas.replaceChildren();
  }

  show({ what, box, key }: Step): void {
    const element = this.#boxes?.boxes.get(box);
    if (what === 'opened') element?.classList.add('open');
    if (what === 'closed') element?.classList.remove('open');
    const node = this.#view?.nodes.find((one) => one.box === box && one.key === key);
    const drawn = node && this.#boxes?.nodes.get(node.id);
    if (what === 'created') drawn?.classList.add('lit');
    if (what === 'disposed') drawn?.classList.remove('lit');
    if (what === 'created' && node) this.#arrows?.flash(node.id);
  }

  #layOut(): void {
    const content = this.#canvas.firstElementChild;
    if (content instanceof HTMLElement) this.#arrows?.layOut(content);
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
