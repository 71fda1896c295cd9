import type { RequestSummary } from '../../src/wire.js';
import { parseRef, refOf } from '../address.js';
import { h } from '../dom.js';
import type { Pinned } from './pinned.js';
import { RequestRow } from './request-row.js';
import { RequestRows } from './request-rows.js';

/** What the list needs to know of the page. */
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
