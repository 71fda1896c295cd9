import type { RequestSummary } from '../../src/wire.js';
import { byId, h, setText } from '../dom.js';
import { count } from '../format.js';
import { fetchGraph } from '../stream/connection.js';
import type { Store } from '../stream/store.js';
import { Caption } from './caption.js';
import { Alive } from './graph-boxes.js';
import { GraphCanvas } from './graph-canvas.js';
import { countOf, guide, leakDetails, leaksByBox, numbers, serviceDetails } from './graph-details.js';
import { exportMenu } from './graph-export.js';
import { Replay, ReplayControls } from './replay.js';

export interface ToolActions {
  /** Marks the services that match, and returns how many. */
  readonly search: (text: string) => number;
  /** Goes to the next match, or the one before, and returns which one it is. */
  readonly jump: (by: -1 | 1) => number;
  readonly feature: (feature: string | undefined) => void;
  readonly foldAll: (folded: boolean) => void;
  readonly unfocus: () => void;
  readonly zoom: (how: 'fit' | 'in' | 'out' | 'whole') => void;
}

/** The row below the graph: find, filter, collapse, zoom. */
export class GraphTools {
  readonly element: HTMLElement;
  readonly #search = h('input', {
    type: 'search',
    class: 'search',
    placeholder: 'Find a service',
    'aria-label': 'Find a service by key or feature',
    'aria-keyshortcuts': '/',
  });
  readonly #found = h('output', { class: 'found' });
  readonly #feature = h('select', { 'aria-label': 'Feature' });
  readonly #fold = h(
    'button',
    { class: 'fold-all', 'aria-pressed': 'false', 'aria-label': 'Collapse features' },
    'Collapse',
  );
  readonly #unfocus = h('button', { class: 'unfocus', hidden: '' });
  readonly #note = h('span', { class: 'hint note' });
  readonly #scale = h('button', { class: 'scale', title: 'Zoom to 100 % (0)' }, '100 %');
  #matches = 0;

  constructor(actions: ToolActions, menu: HTMLElement) {
    const { search, jump, feature, foldAll, unfocus, zoom } = actions;
    this.#search.addEventListener('input', () => {
      this.#matches = search(this.#search.value);
      setText(this.#found, this.#search.value.trim() === '' ? '' : `${count(this.#matches)} found`);
    });
    this.#search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && this.#matches > 0)
        setText(this.#found, `${jump(event.shiftKey ? -1 : 1) + 1} of ${count(this.#matches)}`);
      if (event.key !== 'Escape' || this.#search.value === '') return;
      // The first Escape only empties the field.
      event.stopPropagation();
      this.clearSearch();
      search('');
    });
    this.#feature.addEventListener('change', () => {
      feature(this.#feature.value === '*' ? undefined : this.#feature.value.slice(1));
    });
    this.#fold.addEventListener('click', () => foldAll(this.#fold.getAttribute('aria-pressed') !== 'true'));
    this.#unfocus.addEventListener('click', unfocus);
    this.#scale.addEventListener('click', () => zoom('whole'));
    const button = (text: string, label: string, how: 'fit' | 'in' | 'out'): HTMLElement => {
      const made = h('button', { 'aria-label': label, title: label }, text);
      made.addEventListener('click', () => zoom(how));
      return made;
    };
    this.element = h(
      'div',
      { class: 'graph-tools', role: 'group', 'aria-label': 'Graph tools' },
      h('div', { class: 'find' }, this.#search, this.#found),
      this.#feature,
      this.#fold,
      this.#unfocus,
      this.#note,
      menu,
      h(
        'div',
        { class: 'zoom', role: 'group', 'aria-label': 'Zoom' },
        button('−', 'Zoom out', 'out'),
        this.#scale,
        button('+', 'Zoom in', 'in'),
        button('Fit', 'Fit into the window', 'fit'),
      ),
    );
  }

  focusSearch(): void {
    this.#search.focus();
    this.#search.select();
  }

  clearSearch(): void {
    this.#search.value = '';
    this.#matches = 0;
    setText(this.#found, '');
  }

  /** An empty text is for services without a feature. */
  set features(features: readonly string[]) {
    const named = features.length > 0 && !(features.length === 1 && features[0] === '');
    this.#feature.hidden = !named;
    this.#fold.hidden = !named;
    this.#feature.replaceChildren(
      h('option', { value: '*' }, 'All features'),
      ...features.map((name) => h('option', { value: `=${name}` }, name === '' ? 'no feature' : name)),
    );
  }

  show(now: { feature: string | undefined; folded: boolean; focus: string | undefined; leftOut: number }): void {
    this.#feature.value = now.feature === undefined ? '*' : `=${now.feature}`;
    this.#fold.setAttribute('aria-pressed', String(now.folded));
    this.#unfocus.hidden = now.focus === undefined;
    setText(this.#unfocus, `Only around ${now.focus ?? ''} ×`);
    setText(
      this.#note,
      now.leftOut > 0 ? `${count(now.leftOut)} arrows are too many to read: choose a service to see its own.` : '',
    );
  }

  set scale(scale: number) {
    setText(this.#scale, `${Math.round(scale * 100)} %`);
  }
}

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
  /** The data behind the details, which are written again only when it has changed. */
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
