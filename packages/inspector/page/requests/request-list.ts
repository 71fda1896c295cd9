import type { RequestSummary } from '../../src/wire.js';
import { parseRef, refOf } from '../address.js';
import { h, setText } from '../dom.js';
import { clock, duration } from '../format.js';
import type { Pinned } from './comparison.js';
import { RequestOrder } from './request-data.js';
import { badge, marksOf, stateMark } from './request-view.js';

/** One row of the list, which shows one request after the other. */
export class RequestRow {
  readonly element = h('div', { class: 'request', role: 'option' });
  readonly #time = h('span', { class: 'time' });
  readonly #method = h('span', { class: 'method' });
  readonly #route = h('span', { class: 'route' });
  readonly #badges = h('span', { class: 'badges' });
  readonly #status = h('span', { class: 'status' });
  readonly #took = h('span', { class: 'took' });
  #request: RequestSummary | undefined;
  #marks = '';
  #y = NaN;

  constructor() {
    this.element.append(this.#time, this.#method, this.#route, this.#badges, this.#status, this.#took);
  }

  show(request: RequestSummary, ref: string, slowMs: number): void {
    if (request === this.#request) return;
    if (request.id !== this.#request?.id || this.element.id === '') {
      this.element.id = `request-${ref}`;
      this.element.dataset['ref'] = ref;
    }
    this.#request = request;
    const { method, route, milliseconds, arrived, trouble } = request;
    this.element.classList.toggle('trouble', trouble);
    setText(this.#time, clock(arrived));
    setText(this.#method, method);
    if (this.#route.textContent !== route) {
      this.#route.textContent = route;
      this.#route.title = route;
    }
    setText(this.#took, milliseconds === undefined ? '' : duration(milliseconds));
    this.#showMarks(request, slowMs);
  }

  /** Pixels from the top. */
  place(y: number): void {
    if (y === this.#y) return;
    this.#y = y;
    this.element.style.transform = `translateY(${y}px)`;
  }

  /** Where it is among all rows, for those who cannot see that. */
  number(position: number, size: number): void {
    setAttribute(this.element, 'aria-posinset', String(position + 1));
    setAttribute(this.element, 'aria-setsize', String(size));
  }

  mark(active: boolean): void {
    setAttribute(this.element, 'aria-selected', String(active));
  }

  #showMarks(request: RequestSummary, slowMs: number): void {
    const marks = marksOf(request, slowMs);
    const state = stateMark(request);
    const all = JSON.stringify([marks, state]);
    if (all === this.#marks) return;
    this.#marks = all;
    this.#badges.replaceChildren(...marks.map(badge));
    this.#status.replaceChildren(badge(state));
  }
}

function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Whether a list, to which rows are added at the top, follows them: while it is scrolled to the top and no mouse is over it. */
export class ScrollAnchor {
  readonly #scroller: HTMLElement;
  #atTop = true;
  #over = false;
  #top = 0;

  /** @param onChange - called when the user has scrolled, or the mouse has left */
  constructor(scroller: HTMLElement, onChange: (why: 'left' | 'scrolled') => void) {
    this.#scroller = scroller;
    scroller.addEventListener('scroll', () => {
      const { scrollTop } = scroller;
      // Where the page itself has scrolled to.
      if (Math.abs(scrollTop - this.#top) < 1) return;
      this.#top = scrollTop;
      this.#atTop = scrollTop < 1;
      onChange('scrolled');
    });
    // Not with touch: a finger does not rest above the list.
    scroller.addEventListener('pointerenter', ({ pointerType }) => (this.#over = pointerType === 'mouse'));
    scroller.addEventListener('pointerleave', () => {
      this.#over = false;
      onChange('left');
    });
  }

  get follows(): boolean {
    return this.#atTop && !this.#over;
  }

  get top(): number {
    return this.#top;
  }

  /** Stops following, also when the mouse has left. */
  stay(): void {
    this.#atTop = false;
  }

  follow(): void {
    this.#atTop = true;
  }

  scrollTo(top: number): void {
    if (Math.abs(top - this.#top) < 0.5) return;
    this.#scroller.scrollTop = top;
    // Browsers round it, and limit it to what is there.
    this.#top = this.#scroller.scrollTop;
  }
}

/** Rows above and below the visible ones, so that scrolling shows no gap. */
const SPARE_ROWS = 6;

/** The properties that all rows share. */
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
    // The header stays visible, so it covers as many rows as it is high.
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

/** The part of the page that the list uses. */
export interface ListParts {
  readonly pinned: Pinned;
  readonly recording: () => { readonly boot: string; readonly slowMs: number };
  readonly onChoose: (ref: string | undefined) => void;
  readonly onOpen: (ref: string, how: 'click' | 'key') => void;
  readonly onDraw: () => void;
}

/** The pinned requests and below them the others: a listbox, in which arrow keys move. */
export class RequestListBox {
  readonly element = h('div', { class: 'list', role: 'listbox', tabindex: '0', 'aria-label': 'Requests' });
  readonly #parts: ListParts;
  readonly #pinnedGroup = h('div', { class: 'pinned', role: 'group', 'aria-label': 'Pinned', hidden: '' });
  readonly #pinnedRows = new Map<string, RequestRow>();
  readonly #rows: RequestRows;
  #chosen: string | undefined;
  #fits: (request: RequestSummary) => boolean = () => true;

  constructor(parts: ListParts) {
    this.#parts = parts;
    const facts = () => ({ ...parts.recording(), active: this.#activeId });
    this.#rows = new RequestRows(this.element, facts, () => {
      this.#pointAtActive();
      parts.onDraw();
    });
    this.element.append(this.#pinnedGroup, this.#rows.element);
    this.element.addEventListener('keydown', (event) => this.#onKey(event));
    this.element.addEventListener('click', ({ target }) => {
      const ref = target instanceof Element && target.closest<HTMLElement>('.request')?.dataset['ref'];
      if (!ref) return;
      this.choose(ref);
      parts.onOpen(ref, 'click');
    });
    this.drawPinned();
  }

  get visible(): number {
    return this.#parts.pinned.size + this.#rows.length;
  }

  get unseen(): number {
    return this.#rows.unseen;
  }

  has(id: number): boolean {
    return this.#rows.has(id);
  }

  get chosen(): string | undefined {
    return this.#chosen;
  }

  /** Shows these, of which only some fit. */
  reset(requests: Iterable<RequestSummary>, fits: (request: RequestSummary) => boolean): void {
    this.#fits = fits;
    this.#rows.reset([...requests].filter((request) => this.#belongs(request)));
  }

  update(changed: readonly RequestSummary[], removed: readonly number[]): void {
    for (const request of changed) {
      if (this.#belongs(request)) this.#rows.put(request);
      else this.#rows.remove(request.id);
    }
    for (const id of removed) this.#rows.remove(id);
    this.#rows.draw();
  }

  follow(): void {
    this.#rows.follow();
  }

  choose(ref: string | undefined): void {
    if (ref !== this.#chosen) {
      this.#chosen = ref;
      this.#rows.draw();
      for (const [pinned, row] of this.#pinnedRows) row.mark(pinned === ref);
      this.#parts.onChoose(ref);
    }
    if (ref !== undefined && this.#pinnedRows.has(ref))
      this.#pinnedRows.get(ref)?.element.scrollIntoView({ block: 'nearest' });
    else if (this.#activeId !== undefined) this.#rows.reveal(this.#activeId);
    this.#pointAtActive();
  }

  /** Moves by so many rows, and chooses the row. */
  move(steps: number): void {
    const all = this.visible;
    if (all === 0) return;
    const at = this.#indexOfChosen();
    const next = at === undefined ? (steps > 0 ? 0 : all - 1) : at + steps;
    this.choose(this.#refAt(Math.min(Math.max(0, next), all - 1)));
  }

  drawPinned(): void {
    const { pinned, recording } = this.#parts;
    const entries = pinned.entries();
    for (const ref of this.#pinnedRows.keys()) if (!pinned.has(ref)) this.#pinnedRows.delete(ref);
    const rows = entries.map(([ref, request], i) => {
      const row = this.#pinnedRows.get(ref) ?? new RequestRow();
      this.#pinnedRows.set(ref, row);
      row.show(request, ref, recording().slowMs);
      row.number(i, entries.length);
      row.mark(ref === this.#chosen);
      return row.element;
    });
    this.#pinnedGroup.replaceChildren(...rows);
    this.#pinnedGroup.hidden = rows.length === 0;
    this.#rows.moved();
  }

  get #activeId(): number | undefined {
    const { boot, id } = parseRef(this.#chosen ?? '') ?? {};
    return boot === this.#parts.recording().boot ? id : undefined;
  }

  /** A request that is pinned is at the top only. */
  #belongs(request: RequestSummary): boolean {
    return !this.#parts.pinned.has(refOf(this.#parts.recording().boot, request.id)) && this.#fits(request);
  }

  #refAt(index: number): string | undefined {
    const { pinned, recording } = this.#parts;
    if (index < pinned.size) return pinned.entries()[index]?.[0];
    const id = this.#rows.at(index - pinned.size);
    return id === undefined ? undefined : refOf(recording().boot, id);
  }

  /** If it is no longer in the list, the next older one counts. */
  #indexOfChosen(): number | undefined {
    if (this.#chosen === undefined) return undefined;
    const { pinned } = this.#parts;
    const index = pinned.entries().findIndex(([ref]) => ref === this.#chosen);
    if (index >= 0) return index;
    const id = this.#activeId;
    return id === undefined ? undefined : pinned.size + this.#rows.positionOf(id);
  }

  #pointAtActive(): void {
    const element = this.#chosen === undefined ? null : document.getElementById(`request-${this.#chosen}`);
    if (element) this.element.setAttribute('aria-activedescendant', element.id);
    else this.element.removeAttribute('aria-activedescendant');
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / 36) - 1);
    const acts: Record<string, () => void> = {
      Escape: () => this.choose(undefined),
      Enter: () => this.#chosen !== undefined && this.#parts.onOpen(this.#chosen, 'key'),
      ArrowDown: () => this.move(1),
      ArrowUp: () => this.move(-1),
      PageDown: () => this.move(page),
      PageUp: () => this.move(-page),
      Home: () => {
        this.choose(this.#refAt(0));
        this.follow();
      },
      End: () => this.choose(this.#refAt(this.visible - 1)),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
