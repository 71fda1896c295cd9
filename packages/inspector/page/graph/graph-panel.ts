import type { RequestSummary } from '../../src/wire.js';
import { Caption } from './caption.js';
import { byId, h } from '../dom.js';
import { Alive } from './graph-alive.js';
import { GraphCanvas } from './graph-canvas.js';
import { guide, numbers, serviceDetails } from './graph-details.js';
import { exportMenu } from './graph-export.js';
import { countOf, leakDetails, leaksByBox } from './graph-leaks.js';
import { GraphTools } from './graph-tools.js';
import { Replay } from './replay.js';
import { ReplayControls } from './replay-controls.js';
import { fetchGraph } from '../stream/server.js';
import type { Store } from '../stream/store.js';

type Chosen = { readonly leaks: string } | { readonly service: string } | undefined;

/** The dependency graph as nested boxes, in which requests are replayed. */
export class GraphPanel {
  readonly #store: Store;
  readonly #openRequest: (id: number) => void;
  readonly #panel = byId('graph');
  readonly #details = byId('details');
  readonly #canvas: GraphCanvas;
  readonly #tools: GraphTools;
  readonly #replay: Replay;
  #alive: Alive | undefined;
  #chosen: Chosen;
  /** What the details were written from, so that they are written again only when it has changed. */
  #written: unknown;

  constructor(store: Store, openRequest: (id: number) => void) {
    this.#store = store;
    this.#openRequest = openRequest;
    this.#canvas = new GraphCanvas(byId('canvas'), {
      choose: (id) => this.#choose(this.#service === id ? undefined : { service: id }),
      leaks: (box) => this.#choose({ leaks: box }),
      drawn: () => this.#showTools(),
    });
    this.#tools = this.#makeTools();
    byId('canvas').after(this.#tools.element);
    const controls = new ReplayControls(() => this.#replay);
    const caption = new Caption(byId('caption'), controls);
    let text = '';
    this.#replay = new Replay((state, moved) => {
      // Written again also for a newer request that waits, where nothing is played.
      if (moved !== 'no' || !state.request) text = caption.show(state);
      controls.show(state, text);
      if (moved !== 'no') this.#canvas.stage.show(state.request, state.position, moved === 'next');
    });
    this.#replay.reset();
    store.onStart(() => void this.#load());
    store.onChange((changed) => this.#update(changed));
    document.addEventListener('keydown', (event) => this.#onKey(event));
  }

  set shown(shown: boolean) {
    this.#replay.shown = shown;
    if (shown) this.#canvas.begin();
  }

  /** Plays this request, and stays with it until the user goes on. */
  play(id: number): void {
    void this.#replay.play(id);
  }

  get #service(): string | undefined {
    return this.#chosen && 'service' in this.#chosen ? this.#chosen.service : undefined;
  }

  async #load(): Promise<void> {
    this.#replay.reset();
    const view = await fetchGraph();
    this.#canvas.load(view);
    this.#alive = new Alive(this.#canvas.index, this.#store);
    this.#tools.clearSearch();
    this.#tools.features = [...new Set(view.nodes.map(({ feature = '' }) => feature))].toSorted();
    this.#choose(undefined);
    this.#update([]);
  }

  #choose(chosen: Chosen): void {
    this.#chosen = chosen;
    this.#details.toggleAttribute('data-chosen', chosen !== undefined);
    // First the details: on a small window they make the graph smaller.
    this.#writeDetails();
    this.#details.scrollTop = 0;
    this.#canvas.choose(this.#service);
  }

  #writeDetails(): void {
    const { index, choices } = this.#canvas;
    const node = index.nodes.get(this.#service ?? '');
    const actions = {
      choose: (id: string): void => this.#choose({ service: id }),
      focus: (depth: number | undefined): void => this.#focus(depth),
    };
    const close = h('button', { class: 'quiet close', 'aria-label': 'Close', title: 'Close (Escape)' }, '×');
    close.addEventListener('click', () => this.#choose(undefined));
    if (node) {
      const depth = choices.focus?.node === node.id ? choices.focus.depth : undefined;
      this.#details.replaceChildren(close, ...serviceDetails(index, node, this.#store, actions, depth));
    } else if (this.#chosen && 'leaks' in this.#chosen) {
      const leaks = this.#leaks().get(this.#chosen.leaks) ?? [];
      this.#details.replaceChildren(close, ...leakDetails(leaks, this.#openRequest));
    } else this.#details.replaceChildren(...guide(index.view, actions.choose));
  }

  #makeTools(): GraphTools {
    const canvas = this.#canvas;
    return new GraphTools(
      {
        search: (text) => canvas.search(text),
        jump: (by) => canvas.jump(by),
        feature: (feature) => canvas.see({ ...canvas.choices, feature }),
        foldAll: (folded) => canvas.fold(canvas.groups(), folded),
        unfocus: () => this.#focus(undefined),
        zoom: (how) => this.#zoom(how),
      },
      exportMenu(() => canvas.drawn),
    );
  }

  #focus(depth: number | undefined): void {
    const node = this.#service;
    const focus = depth === undefined || node === undefined ? undefined : { node, depth };
    this.#canvas.see({ ...this.#canvas.choices, focus });
    this.#writeDetails();
    this.#canvas.choose(node);
  }

  #zoom(how: 'fit' | 'in' | 'out' | 'whole'): void {
    const { zoom } = this.#canvas;
    if (how === 'fit') zoom.fit();
    else if (how === 'whole') zoom.to(1);
    else zoom.by(how === 'in' ? 1 : -1);
  }

  #showTools(): void {
    const { choices, index, leftOut, zoom } = this.#canvas;
    const groups = this.#canvas.groups();
    this.#tools.show({
      feature: choices.feature,
      folded: groups.length > 0 && groups.every((id) => choices.collapsed.has(id)),
      focus: index.nodes.get(choices.focus?.node ?? '')?.key,
      leftOut,
    });
    this.#tools.scale = zoom.scale;
  }

  #onKey(event: KeyboardEvent): void {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const isHere = target === document.body || (target instanceof Node && this.#panel.contains(target));
    if (this.#panel.hidden || !isHere || ctrlKey || metaKey || altKey) return;
    if (key === 'Escape') return this.#choose(undefined);
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return undefined;
    const keys: Record<string, () => void> = {
      '+': () => this.#zoom('in'),
      '=': () => this.#zoom('in'),
      '-': () => this.#zoom('out'),
      '0': () => this.#zoom('whole'),
      f: () => this.#zoom('fit'),
      '/': () => this.#tools.focusSearch(),
    };
    if (!keys[key]) return undefined;
    // Or the field that is focused would get the character.
    event.preventDefault();
    return keys[key]();
  }

  #leaks(): ReturnType<typeof leaksByBox> {
    return leaksByBox(this.#canvas.index, this.#store.now?.leaks ?? []);
  }

  #update(changed: readonly RequestSummary[]): void {
    this.#replay.offer(changed);
    const { boxes, index } = this.#canvas;
    const leaks = this.#leaks();
    const open = new Map(this.#store.now?.kinds.map((kind) => [kind.box, kind.open]));
    for (const { id } of index.view.boxes) boxes.tell(id, open.get(id) ?? 0, countOf(leaks.get(id) ?? []));
    for (const id of this.#alive?.takeNew() ?? []) boxes.services.get(id)?.classList.add('alive');
    this.#refreshDetails(leaks);
  }

  #refreshDetails(leaks: ReturnType<typeof leaksByBox>): void {
    const node = this.#canvas.index.nodes.get(this.#service ?? '');
    const stats = node && this.#store.stats(node.box, node.key);
    const now = this.#chosen && 'leaks' in this.#chosen ? countOf(leaks.get(this.#chosen.leaks) ?? []) : stats;
    if (now === this.#written) return;
    this.#written = now;
    if (node) this.#details.querySelector('.numbers')?.replaceWith(numbers(node, this.#store));
    else if (this.#chosen) this.#writeDetails();
  }
}
