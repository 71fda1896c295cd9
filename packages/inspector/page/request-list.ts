import type { RequestSummary } from '../src/wire.js';
import { h } from './dom.js';
import { clock, duration } from './format.js';
import { findingBadge, outcomeBadge, searchText, stateBadge } from './request-badges.js';

interface Row {
  readonly element: HTMLElement;
  request: RequestSummary;
}

/** The requests, the newest first: a listbox, in which arrow keys move and what is moved to is opened. */
export class RequestListBox {
  readonly element = h('div', { class: 'list', role: 'listbox', tabindex: '0', 'aria-label': 'Requests' });
  readonly #rows = new Map<number, Row>();
  readonly #onChoose: (id: number | undefined) => void;
  #chosen: number | undefined;
  #words: readonly string[] = [];
  #onlyTrouble = false;

  constructor(onChoose: (id: number | undefined) => void) {
    this.#onChoose = onChoose;
    this.element.addEventListener('keydown', (event) => this.#onKey(event));
  }

  get visible(): number {
    return this.#shown().length;
  }

  has(id: number): boolean {
    return this.#rows.has(id);
  }

  filter(text: string, onlyTrouble: boolean): void {
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.#onlyTrouble = onlyTrouble;
    for (const row of this.#rows.values()) this.#hide(row);
  }

  put(request: RequestSummary): void {
    const known = this.#rows.get(request.id);
    const row: Row = known ?? { element: this.#newRow(request.id), request };
    row.request = request;
    fill(row.element, request);
    this.#hide(row);
    if (known) return;
    // Trouble may be known only after later requests.
    const newer = Math.min(...[...this.#rows.keys()].filter((id) => id > request.id));
    const below = this.#rows.get(newer)?.element;
    this.#rows.set(request.id, row);
    if (below) below.after(row.element);
    else this.element.prepend(row.element);
  }

  /** Forgets what the server has forgotten. */
  keepOnly(requests: ReadonlyMap<number, RequestSummary>): void {
    for (const [id, { element }] of this.#rows) {
      if (requests.has(id) || id === this.#chosen) continue;
      element.remove();
      this.#rows.delete(id);
    }
  }

  clear(): void {
    this.#rows.clear();
    this.element.replaceChildren();
    this.choose(undefined);
  }

  choose(id: number | undefined): void {
    this.#mark(this.#chosen, false);
    this.#chosen = id;
    this.#mark(id, true);
    const element = id === undefined ? undefined : this.#rows.get(id)?.element;
    if (element) this.element.setAttribute('aria-activedescendant', element.id);
    else this.element.removeAttribute('aria-activedescendant');
    element?.scrollIntoView({ block: 'nearest' });
    this.#onChoose(id);
  }

  #mark(id: number | undefined, chosen: boolean): void {
    if (id !== undefined) this.#rows.get(id)?.element.setAttribute('aria-selected', String(chosen));
  }

  #newRow(id: number): HTMLElement {
    const element = h('div', { class: 'request', role: 'option', id: `request-${id}`, 'aria-selected': 'false' });
    element.addEventListener('click', () => this.choose(id));
    return element;
  }

  #hide({ element, request }: Row): void {
    const text = this.#words.length > 0 ? searchText(request) : '';
    const fits = this.#words.every((word) => text.includes(word)) && (!this.#onlyTrouble || request.trouble);
    element.hidden = !fits;
  }

  /** The newest first. */
  #shown(): number[] {
    return Array.from(this.#rows)
      .filter(([, { element }]) => !element.hidden)
      .map(([id]) => id)
      .toSorted((one, other) => other - one);
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key === 'Escape') {
      this.choose(undefined);
      return;
    }
    const shown = this.#shown();
    const at = this.#chosen === undefined ? -1 : shown.indexOf(this.#chosen);
    const last = shown.length - 1;
    const steps: Record<string, number> = {
      ArrowDown: Math.min(at + 1, last),
      ArrowUp: Math.max(at - 1, 0),
      Home: 0,
      End: last,
    };
    const next = steps[event.key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    this.choose(shown[next]);
  }
}

function fill(element: HTMLElement, request: RequestSummary): void {
  element.classList.toggle('trouble', request.trouble);
  const { method, route, milliseconds, arrived, leaks } = request;
  element.replaceChildren(
    h('span', { class: 'time' }, clock(arrived)),
    h('span', { class: 'method' }, method),
    h('span', { class: 'route', title: route }, route),
    h(
      'span',
      { class: 'badges' },
      leaks > 0 && h('span', { class: 'badge bad' }, 'leak'),
      findingBadge(request),
      outcomeBadge(request),
    ),
    h('span', { class: 'status' }, stateBadge(request)),
    h('span', { class: 'took' }, milliseconds === undefined ? '' : duration(milliseconds)),
  );
}
