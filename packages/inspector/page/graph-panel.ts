import type { GraphView, RequestSummary } from '../src/wire.js';
import { Caption } from './caption.js';
import { byId, h, setText } from './dom.js';
import { count } from './format.js';
import { Arrows } from './graph-arrows.js';
import { type Boxes, drawBoxes } from './graph-boxes.js';
import { guide, numbers, serviceDetails } from './graph-details.js';
import { neighbour } from './graph-keys.js';
import { GraphStage } from './graph-stage.js';
import { Replay, type Stage } from './replay.js';
import { fetchGraph } from './server.js';
import type { Store } from './store.js';

interface Drawn {
  readonly view: GraphView;
  readonly boxes: Boxes;
  readonly arrows: Arrows;
  readonly stage: GraphStage;
}

/** The dependency graph as nested boxes, in which requests are replayed. */
export class GraphPanel {
  readonly #store: Store;
  readonly #canvas = byId('canvas');
  readonly #details = byId('details');
  readonly #caption = new Caption(byId('caption'));
  readonly #replay: Replay;
  #drawn: Drawn | undefined;
  #chosen: string | undefined;

  constructor(store: Store) {
    this.#store = store;
    const stage = (): Stage | undefined => this.#drawn?.stage;
    this.#replay = new Replay({
      begin: (request) => stage()?.begin(request),
      step: (request, step, slower) => stage()?.step(request, step, slower),
      end: (request) => stage()?.end(request),
      idle: () => this.#caption.waiting(),
    });
    store.onStart(() => void this.#load());
    store.onChange((changed) => this.#update(changed));
    new ResizeObserver(() => this.#layOut()).observe(this.#canvas);
    this.#canvas.addEventListener('keydown', (event) => this.#onKey(event));
    byId('graph').addEventListener('keydown', ({ key }) => key === 'Escape' && this.#choose(undefined));
  }

  set shown(shown: boolean) {
    this.#replay.shown = shown;
    if (shown) this.#layOut();
  }

  async #load(): Promise<void> {
    this.#replay.reset();
    const view = await fetchGraph();
    const boxes = drawBoxes(view);
    const arrows = new Arrows(view.edges, boxes.nodes);
    this.#drawn = { view, boxes, arrows, stage: new GraphStage(view, boxes, arrows, this.#caption) };
    const content = h('div', { class: 'content' }, boxes.element);
    content.append(arrows.element);
    this.#canvas.replaceChildren(content);
    for (const [id, node] of boxes.nodes) {
      node.addEventListener('click', () => this.#choose(this.#chosen === id ? undefined : id));
      node.addEventListener('pointerenter', () => this.#highlight(id));
      node.addEventListener('pointerleave', () => this.#highlight(this.#chosen));
      node.addEventListener('focus', () => this.#highlight(id));
      node.addEventListener('blur', () => this.#highlight(this.#chosen));
    }
    const first = boxes.nodes.values().next().value;
    if (first) first.tabIndex = 0;
    this.#layOut();
    this.#choose(undefined);
    this.#update([]);
  }

  #layOut(): void {
    const content = this.#canvas.firstElementChild;
    if (content instanceof HTMLElement && content.offsetParent) this.#drawn?.arrows.layOut(content);
  }

  #choose(id: string | undefined): void {
    if (!this.#drawn) return;
    const { view, boxes } = this.#drawn;
    this.#chosen = id;
    for (const [other, element] of boxes.nodes) element.setAttribute('aria-pressed', String(other === id));
    const node = view.nodes.find((one) => one.id === id);
    const choose = (next: string | undefined): void => this.#choose(next);
    this.#details.replaceChildren(...(node ? serviceDetails(view, node, this.#store, choose) : guide(view, choose)));
    this.#details.scrollTop = 0;
    if (node) boxes.nodes.get(node.id)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    this.#highlight(id);
  }

  #highlight(id: string | undefined): void {
    this.#canvas.classList.toggle('focused', id !== undefined);
    this.#drawn?.arrows.light(id);
    const near = new Set(id === undefined ? [] : [id]);
    for (const { from, to } of this.#drawn?.view.edges ?? []) {
      if (from === id) near.add(to);
      if (to === id) near.add(from);
    }
    for (const [other, element] of this.#drawn?.boxes.nodes ?? []) element.classList.toggle('near', near.has(other));
  }

  #onKey(event: KeyboardEvent): void {
    const { target, key } = event;
    if (!this.#drawn || !(target instanceof HTMLButtonElement) || !key.startsWith('Arrow')) return;
    event.preventDefault();
    const next = neighbour(target, key, this.#drawn.boxes.nodes.values());
    if (!next) return;
    target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  #update(changed: readonly RequestSummary[]): void {
    if (!this.#drawn) return;
    this.#replay.offer(changed);
    const { view, boxes } = this.#drawn;
    for (const { box, open } of this.#store.now?.kinds ?? []) {
      const output = boxes.boxes.get(box)?.querySelector('header output');
      if (output) setText(output, box.includes(' > ') ? `${count(open)} open` : '');
    }
    const alive = aliveInRoot(view, this.#store);
    for (const [id, element] of boxes.nodes) element.classList.toggle('alive', alive.has(id));
    const node = view.nodes.find(({ id }) => id === this.#chosen);
    if (node) this.#details.querySelector('.numbers')?.replaceWith(numbers(node, this.#store));
  }
}

/** The application singletons that exist: those seen being created, and those that a created service depends on. */
function aliveInRoot({ nodes, edges, boxes }: GraphView, store: Store): Set<string> {
  const root = boxes.find(({ parent }) => parent === undefined)?.id;
  const inRoot = new Map(nodes.filter(({ box }) => box === root).map((node) => [node.id, node]));
  const made = nodes.filter(({ box, key, kind }) => (kind === 'value' && box === root) || store.stats(box, key));
  const alive = new Set<string>();
  const add = (id: string): void => {
    const node = inRoot.get(id);
    if (node && !alive.has(id) && (node.singleton || node.kind === 'value')) alive.add(id);
    else if (node) return;
    for (const edge of edges) if (edge.from === id && (edge.kind === 'one' || edge.kind === 'optional')) add(edge.to);
  };
  for (const { id } of made) add(id);
  return alive;
}
