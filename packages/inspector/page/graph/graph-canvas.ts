import type { GraphView } from '../../src/wire.js';
import { h } from '../dom.js';
import { Arrows } from './graph-arrows.js';
import { Boxes } from './graph-boxes.js';
import { GraphIndex } from './graph-index.js';
import { TabStop } from './graph-keys.js';
import { layOut, type Layout } from './graph-layout.js';
import { Matches } from './graph-matches.js';
import { type Choices, groupId, NOTHING_CHOSEN, type Shown, shownOf } from './graph-shown.js';
import { GraphStage } from './graph-stage.js';
import { Zoom } from './graph-zoom.js';

/** An application with more services than this begins with its features collapsed. */
const MANY = 120;

/** With more than this on the screen only what is near the pointer changes its look, and at once. */
const MUCH = 150;
/** At this zoom and below nobody can read the names of services: those of features are written larger instead. */
const FAR = 0.4;

interface Events {
  readonly choose: (service: string) => void;
  readonly leaks: (box: string) => void;
  /** What is drawn, or its size, has changed. */
  readonly drawn: () => void;
}

/** The drawing of the graph: what of it is seen, highlighted and marked. */
export class GraphCanvas {
  readonly zoom: Zoom;
  readonly #element: HTMLElement;
  readonly #content = h('div', { class: 'content' });
  readonly #events: Events;
  readonly #arrows = new Arrows();
  index = new GraphIndex({ boxes: [], nodes: [], edges: [], problems: [] });
  boxes = new Boxes(this.index.view);
  stage = new GraphStage(this.index, this.boxes, this.#arrows);
  choices: Choices = NOTHING_CHOSEN;
  drawn: { readonly shown: Shown; readonly layout: Layout } | undefined;
  /** How many arrows are drawn only with the service they belong to. */
  leftOut = 0;
  #near: readonly HTMLElement[] = [];
  readonly #matches = new Matches();
  #chosen: string | undefined;
  readonly #stop = new TabStop();
  #begun = false;
  #isMuch = false;

  constructor(element: HTMLElement, events: Events) {
    this.#element = element;
    this.#events = events;
    const sheet = h('div', { class: 'paper' }, this.#content);
    element.append(sheet);
    this.zoom = new Zoom(element, sheet, this.#content, (scale) => {
      element.classList.toggle('far', scale < FAR);
      events.drawn();
    });
    element.addEventListener('click', ({ target }) => this.#onClick(target));
    element.addEventListener('keydown', (event) => this.#onKey(event));
    // A finger that scrolls is not a pointer that hovers.
    element.addEventListener('pointerover', ({ target, pointerType }) => {
      if (pointerType !== 'touch') this.#light(idAt(target, '[data-node]', 'node') ?? this.#chosen);
    });
    element.addEventListener('pointerleave', () => this.#light(this.#chosen));
    element.addEventListener('focusin', ({ target }) =>
      this.#light(idAt(target, '[data-node]', 'node') ?? this.#chosen),
    );
    element.addEventListener('focusout', () => this.#light(this.#chosen));
  }

  load(view: GraphView): void {
    this.index = new GraphIndex(view);
    this.boxes = new Boxes(view);
    this.stage = new GraphStage(this.index, this.boxes, this.#arrows);
    this.#content.replaceChildren(this.boxes.element, this.#arrows.element, this.#arrows.highlights);
    this.#matches.search(this.index, '');
    const folded = view.nodes.length > MANY ? this.groups() : [];
    this.see({ ...NOTHING_CHOSEN, collapsed: new Set(folded) });
    this.begin();
  }

  /** The first picture; not before the canvas has a size. */
  begin(): void {
    if (this.#begun || this.#element.clientWidth === 0 || this.index.view.nodes.length === 0) return;
    this.#begun = true;
    this.zoom.begin();
  }

  /** Ids of all groups that a feature names. */
  groups(): string[] {
    const named = this.index.view.nodes.filter(({ feature }) => feature !== undefined);
    return [...new Set(named.map(({ box, feature }) => groupId(box, feature)))];
  }

  see(choices: Choices): void {
    this.choices = choices;
    const focused = document.activeElement;
    const shown = shownOf(this.index, choices);
    const layout = layOut(shown);
    this.drawn = { shown, layout };
    this.boxes.draw(shown, layout);
    this.leftOut = this.#arrows.draw(shown.edges, layout);
    this.zoom.resize(layout.width, layout.height);
    this.#isMuch = layout.places.size + shown.edges.length > MUCH;
    this.#element.classList.toggle('much', this.#isMuch);
    this.stage.redraw();
    this.#matches.mark(this.boxes);
    this.#light(this.#chosen);
    this.#stop.renew(this.boxes.element.querySelector<HTMLElement>('.service') ?? undefined);
    // Moving an element within the page takes the focus away from it.
    if (focused instanceof HTMLElement && focused !== document.activeElement) this.#focusAgain(focused);
    this.#events.drawn();
  }

  choose(id: string | undefined): void {
    this.boxes.services.get(this.#chosen ?? '')?.setAttribute('aria-pressed', 'false');
    this.#chosen = id;
    this.boxes.services.get(id ?? '')?.setAttribute('aria-pressed', 'true');
    if (id !== undefined) this.#reveal(id);
    this.#light(id);
  }

  search(text: string): number {
    const found = this.#matches.search(this.index, text);
    this.#matches.mark(this.boxes);
    return found;
  }

  jump(by: -1 | 1): number {
    const match = this.#matches.move(by);
    if (match) this.#events.choose(match.id);
    return this.#matches.position;
  }

  fold(ids: readonly string[], folded: boolean): void {
    const collapsed = new Set(this.choices.collapsed);
    for (const id of ids)
      if (folded) collapsed.add(id);
      else collapsed.delete(id);
    this.see({ ...this.choices, collapsed });
  }

  /** Expands and unfilters what hides a service, and scrolls to it. */
  #reveal(id: string): void {
    const node = this.index.nodes.get(id);
    if (!node || !this.drawn) return;
    const { drawnAs } = this.drawn.shown;
    if (drawnAs.get(id) !== id) {
      const around = (box: string): boolean => node.box === box || node.box.startsWith(`${box} > `);
      const group = groupId(node.box, node.feature);
      const collapsed = [...this.choices.collapsed].filter((one) => one !== group && !around(one));
      const filters = drawnAs.has(id) ? this.choices : NOTHING_CHOSEN;
      this.see({ ...filters, collapsed: new Set(collapsed) });
    }
    const place = this.drawn.layout.places.get(id);
    if (place) this.zoom.bringIntoView(place);
  }

  #light(id: string | undefined): void {
    for (const element of this.#near) element.classList.remove('near');
    const drawn = id === undefined ? undefined : (this.drawn?.shown.drawnAs.get(id) ?? id);
    const isSeen = drawn !== undefined && this.drawn?.layout.places.has(drawn) === true;
    this.#element.classList.toggle('focused', isSeen && !this.#isMuch);
    const ends = this.#arrows.light(isSeen ? drawn : undefined);
    this.#near = (isSeen ? [drawn, ...ends] : []).flatMap((one) => this.boxes.drawn(one) ?? []);
    for (const element of this.#near) element.classList.add('near');
  }

  #onClick(target: EventTarget | null): void {
    const leaks = idAt(target, '[data-leaks]', 'leaks');
    const fold = idAt(target, '[data-fold]', 'fold');
    const node = idAt(target, '[data-node]', 'node');
    if (leaks !== undefined) this.#events.leaks(leaks);
    else if (fold !== undefined) this.fold([fold], !this.choices.collapsed.has(fold));
    else if (node !== undefined) this.#events.choose(node);
  }

  #onKey(event: KeyboardEvent): void {
    const next = this.#stop.move(event, this.boxes.buttons());
    const id = next?.dataset['node'] ?? next?.dataset['fold'];
    const place = this.drawn?.layout.places.get(id ?? '');
    if (place) this.zoom.bringIntoView(place);
  }

  #focusAgain(element: HTMLElement): void {
    const { fold } = element.dataset;
    const same = element.isConnected ? element : this.boxes.buttons().find((one) => one.dataset['fold'] === fold);
    if (same && this.#element.contains(same)) this.#stop.focus(same);
  }
}

function idAt(target: EventTarget | null, selector: string, name: string): string | undefined {
  return target instanceof Element ? target.closest<HTMLElement>(selector)?.dataset[name] : undefined;
}
