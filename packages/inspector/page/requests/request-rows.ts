import type { RequestSummary } from '../../src/wire.js';
import { h } from '../dom.js';
import { RequestOrder } from './request-order.js';
import { RequestRow } from './request-row.js';
import { ScrollAnchor } from './scroll-anchor.js';

/** Rows above and below the visible ones, so that scrolling shows no gap. */
const SPARE_ROWS = 6;

/** What all rows have in common. */
export interface RowFacts {
  readonly boot: string;
  readonly slowMs: number;
  /** The request that is chosen. */
  readonly active: number | undefined;
}

/** Any number of requests as rows, the newest at the top, of which only the visible ones are elements. */
export class RequestRows {
  readonly element = h('div', { class: 'rows', role: 'presentation' });
  readonly #order = new RequestOrder();
  readonly #requests = new Map<number, RequestSummary>();
  readonly #anchor: ScrollAnchor;
  readonly #facts: () => RowFacts;
  readonly #onDraw: () => void;
  #rows = new Map<number, RequestRow>();
  #rowHeight = 36;
  #viewHeight = 0;
  #height = -1;
  /** Where the rows begin in the scroller. */
  #base = 0;
  /** The first visible row, and how far it reaches above the edge. */
  #first: { readonly id: number; readonly above: number } | undefined;
  #newestSeen = 0;

  constructor(scroller: HTMLElement, facts: () => RowFacts, onDraw: () => void) {
    this.#facts = facts;
    this.#onDraw = onDraw;
    this.#anchor = new ScrollAnchor(scroller, (why) => {
      if (why === 'scrolled') this.#drawHere();
      else this.draw();
    });
    new ResizeObserver(() => {
      this.#viewHeight = scroller.clientHeight;
      this.#base = this.element.offsetTop;
      this.#rowHeight = parseFloat(getComputedStyle(this.element).getPropertyValue('--row')) || 36;
      this.draw();
    }).observe(scroller);
  }

  get length(): number {
    return this.#order.length;
  }

  /** How many rows were added at the top since the list stopped following. */
  get unseen(): number {
    return this.#order.newerThan(this.#newestSeen);
  }

  at(position: number): number | undefined {
    return this.#order.at(position);
  }

  has(id: number): boolean {
    return this.#order.has(id);
  }

  positionOf(id: number): number {
    return this.#order.positionOf(id);
  }

  reset(requests: readonly RequestSummary[]): void {
    this.#requests.clear();
    for (const request of requests) this.#requests.set(request.id, request);
    this.#order.reset([...this.#requests.keys()]);
    this.draw();
  }

  put(request: RequestSummary): void {
    if (!this.#requests.has(request.id)) this.#order.add(request.id);
    this.#requests.set(request.id, request);
  }

  remove(id: number): void {
    if (this.#requests.delete(id)) this.#order.remove(id);
  }

  /** Follows the newest ones again. */
  follow(): void {
    this.#anchor.follow();
    this.#anchor.scrollTo(0);
    this.#drawHere();
  }

  /** The rows that are above these have become more or fewer. */
  moved(): void {
    this.#base = this.element.offsetTop;
    this.draw();
  }

  /** Scrolls as far as necessary. */
  reveal(id: number): void {
    if (!this.has(id)) return;
    // What is above the rows stays visible, so it covers as many of them as it is high.
    const y = this.positionOf(id) * this.#rowHeight;
    const { top } = this.#anchor;
    const below = this.#base + y + this.#rowHeight - this.#viewHeight;
    if (y < top) this.#anchor.scrollTo(y);
    else if (below > top) this.#anchor.scrollTo(below);
    else return;
    this.#anchor.stay();
    this.#drawHere();
  }

  /** Draws what has changed; what one looks at stays where it is. */
  draw(): void {
    if (this.#viewHeight === 0) return;
    if (this.#anchor.follows && this.#wouldHideActive()) this.#anchor.stay();
    const { follows } = this.#anchor;
    const target = follows || !this.#first ? 0 : this.#yOf(this.#first);
    // A short list cannot be scrolled, unless there is space below it.
    this.#setHeight(Math.max(this.length * this.#rowHeight, follows ? 0 : target + this.#viewHeight - this.#base));
    this.#anchor.scrollTo(target);
    this.#drawHere();
  }

  #yOf({ id, above }: { readonly id: number; readonly above: number }): number {
    return Math.max(0, this.#base + Math.max(0, this.positionOf(id)) * this.#rowHeight + above);
  }

  #wouldHideActive(): boolean {
    const { active } = this.#facts();
    if (active === undefined || !this.has(active)) return false;
    return this.#base + (this.positionOf(active) + 1) * this.#rowHeight > this.#viewHeight;
  }

  #setHeight(height: number): void {
    if (height === this.#height) return;
    this.#height = height;
    this.element.style.height = `${height}px`;
  }

  #drawHere(): void {
    const top = this.#anchor.top - this.#base;
    const position = Math.min(Math.max(0, Math.floor(top / this.#rowHeight)), Math.max(0, this.length - 1));
    const id = this.at(position);
    this.#first = id === undefined ? undefined : { id, above: top - position * this.#rowHeight };
    if (this.#anchor.follows) this.#newestSeen = this.at(0) ?? 0;
    const from = Math.max(0, position - SPARE_ROWS);
    const to = Math.min(this.length, position + Math.ceil(this.#viewHeight / this.#rowHeight) + SPARE_ROWS);
    this.#showRows(from, to);
    this.#onDraw();
  }

  #showRows(from: number, to: number): void {
    const { boot, slowMs, active } = this.#facts();
    const old = this.#rows;
    const ids = Array.from({ length: Math.max(0, to - from) }, (_, i) => this.at(from + i) ?? 0);
    this.#rows = new Map();
    for (const id of ids) {
      const row = old.get(id);
      if (row) this.#rows.set(id, row);
      old.delete(id);
    }
    // The elements of rows that went out of view show those that came into it.
    const free = [...old.values()];
    for (const [i, id] of ids.entries()) {
      const row = this.#rows.get(id) ?? free.pop() ?? new RequestRow();
      this.#rows.set(id, row);
      const request = this.#requests.get(id);
      if (request) row.show(request, `${boot}-${id}`, slowMs);
      row.place((from + i) * this.#rowHeight);
      row.number(from + i, this.length);
      row.mark(id === active);
      if (this.element.children[i] !== row.element)
        this.element.insertBefore(row.element, this.element.children[i] ?? null);
    }
    for (const { element } of free) element.remove();
  }
}
