import { h } from '../../packages/inspector/page/dom.js';
import { lastOf } from '../../packages/inspector/page/format.js';
import { Arrows, Boxes } from '../../packages/inspector/page/graph/graph-boxes.js';
import { layOut } from '../../packages/inspector/page/graph/graph-layout.js';
import { GraphIndex, NOTHING_CHOSEN, shownOf } from '../../packages/inspector/page/graph/graph-index.js';
import type { GraphView } from '../../packages/inspector/src/wire.js';
import type { Step } from './messages.js';

/** The graph and the scopes, drawn as the inspector draws them. */
export class ScopesView {
  readonly #canvas: HTMLElement;
  readonly #arrows = new Arrows();
  #index: GraphIndex | undefined;
  #boxes: Boxes | undefined;

  constructor(canvas: HTMLElement) {
    this.#canvas = canvas;
  }

  draw(view: GraphView): void {
    this.#index = new GraphIndex(view);
    this.#boxes = new Boxes(view);
    const shown = shownOf(this.#index, NOTHING_CHOSEN);
    const layout = layOut(shown);
    this.#boxes.draw(shown, layout);
    this.#arrows.draw(shown.edges, layout);
    // Nothing happens when something is chosen here, so nothing is a button for the keyboard.
    for (const button of this.#boxes.element.querySelectorAll('button')) button.disabled = true;
    const content = h('div', { class: 'content' }, this.#boxes.element);
    content.append(this.#arrows.element);
    content.style.setProperty('width', `${layout.width}px`);
    content.style.setProperty('height', `${layout.height}px`);
    this.#canvas.replaceChildren(content);
  }

  clear(): void {
    this.#canvas.replaceChildren();
  }

  show({ what, box, key }: Step): void {
    const element = this.#boxes?.box(box);
    if (what === 'opened') element?.classList.add('open');
    if (what === 'closed') element?.classList.remove('open');
    const id = key === undefined ? undefined : this.#index?.idOf(box, key);
    if (id === undefined) return;
    const drawn = this.#boxes?.services.get(id);
    if (what === 'created') drawn?.classList.add('lit');
    if (what === 'disposed') drawn?.classList.remove('lit');
    if (what === 'created') this.#arrows.flash(id);
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
