import { signal } from '@preact/signals';
import { h, render } from 'preact';
import { type Chosen, Drawing, type Existing, sentenceOf } from '../../packages/inspector/page/drawing.js';
import { lastOf } from '../../packages/inspector/page/words.js';
import type { GraphView } from '../../packages/inspector/src/wire.js';
import type { Step } from './messages.js';

/** The graph and the scopes, drawn as the inspector draws them. */
export class ScopesView {
  readonly #place: HTMLElement;
  readonly #chosen = signal<Chosen>({});
  readonly #existing = signal<Existing>({ open: new Map(), alive: new Set() });
  #view: GraphView = { boxes: [], nodes: [], edges: [], problems: [] };

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  draw(view: GraphView): void {
    this.#view = view;
    this.#chosen.value = { problem: view.problems[0] };
    const choose = (service: string): void => void (this.#chosen.value = { service });
    const [problem] = view.problems;
    const said = problem && h('p', { class: 'callout', role: 'note' }, sentenceOf(problem));
    const drawing = h(Drawing, { view, chosen: this.#chosen, existing: this.#existing, choose });
    render(h('div', { class: 'drawing' }, said, drawing), this.#place);
  }

  clear(): void {
    this.#existing.value = { open: new Map(), alive: new Set() };
    this.draw({ boxes: [], nodes: [], edges: [], problems: [] });
  }

  show({ what, box, key }: Step): void {
    const [open, alive] = [new Map(this.#existing.value.open), new Set(this.#existing.value.alive)];
    const node = this.#view.nodes.find((one) => one.key === key && one.box === box);
    if (what === 'opened') open.set(box, 1);
    else if (what === 'created' && node) alive.add(node.id);
    else if (what === 'disposed' && node) alive.delete(node.id);
    else if (what === 'closed') {
      open.delete(box);
      // Services without a disposer are not disposed one by one.
      for (const { id, box: its } of this.#view.nodes) if (its === box) alive.delete(id);
    }
    this.#existing.value = { open, alive };
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
