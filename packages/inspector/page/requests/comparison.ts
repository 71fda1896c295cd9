import type { RequestDetails } from '../../src/wire.js';
import { refOf } from '../address.js';
import { h } from '../dom.js';
import { count, duration } from '../format.js';
import type { Store } from '../stream/store.js';
import { compareRequests, differenceOf, type Pair } from './request-data.js';

export interface ComparedWith {
  readonly ref: string;
  readonly details: RequestDetails;
}

/** This request and another one side by side. */
export function comparison(request: RequestDetails, { ref, details }: ComparedWith, onClose: () => void): HTMLElement {
  const { durations, statements, services } = compareRequests(request, details);
  const close = h('button', { class: 'toggle' }, 'Close');
  close.addEventListener('click', onClose);
  const different = services.filter((pair) => differenceOf(pair) !== 0);
  const alike = services.length - different.length;
  return h(
    'section',
    { class: 'comparison', 'aria-label': 'Comparison' },
    h('header', {}, h('h2', {}, `Compared with ${ref}`), close),
    h('p', { class: 'hint' }, `${details.method} ${details.route}, ${details.status ?? details.state}`),
    table(
      'time',
      durations.map((pair) => row(pair.name, pair, duration)),
    ),
    statements.length > 0 &&
      table(
        'statement',
        statements.flatMap(({ sql, count: times, milliseconds }) => [
          row(sql, times, (number) => `${count(number)}×`),
          row('', milliseconds, duration),
        ]),
      ),
    different.length > 0 &&
      table(
        'service, created',
        different.map((pair) => row(pair.name, pair, (number) => `${count(number)}×`)),
      ),
    alike > 0 && h('p', { class: 'hint' }, `${count(alike)} services were created as often in both.`),
  );
}

function table(name: string, rows: readonly HTMLElement[]): HTMLElement {
  const names = [name, 'this', 'other', 'difference'];
  return h(
    'table',
    { class: 'data' },
    h('thead', {}, h('tr', {}, ...names.map((one) => h('th', { scope: 'col' }, one)))),
    h('tbody', {}, ...rows),
  );
}

function row(name: string, pair: Pair, text: (number: number) => string): HTMLElement {
  const { one, other } = pair;
  const difference = differenceOf(pair);
  const sign = difference > 0 ? '+' : '−';
  const shown = text(Math.abs(difference));
  const isNothing = shown === text(0);
  return h(
    'tr',
    {},
    name === '' ? h('td', {}, 'time') : h('th', { scope: 'row' }, name),
    ...[one, other].map((number) => h('td', {}, number === undefined ? 'none' : text(number))),
    h('td', { class: isNothing ? '' : 'differs' }, isNothing ? 'same' : sign + shown),
  );
}

/** As many as somebody looks through. */
const MOST = 20;

/** The names of requests that one may be compared with: the newest of its route, and what is pinned. */
export function comparableTo({ method, route }: RequestDetails, store: Store, pinned: Pinned): string[] {
  const alike = [...store.requests.values()].filter(
    (other) => other.method === method && other.route === route && other.state !== 'open',
  );
  const newest = alike.toSorted((one, other) => other.id - one.id).slice(0, MOST);
  return [...new Set([...newest.map(({ id }) => store.refOf(id)), ...pinned.entries().map(([ref]) => ref)])];
}

/** Stands for the recording, in the name of a request that was imported. */
export const IMPORTED = 'imported';

const STORED = 'ambit-inspector-pinned';
/** The browser keeps some megabytes for a tab. */
const MOST_PINNED = 30;

/** Requests that this tab keeps, also when the server has forgotten them, by `<boot>-<id>`. */
export class Pinned {
  readonly #all: Map<string, RequestDetails>;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#all = new Map(read());
  }

  get size(): number {
    return this.#all.size;
  }

  has(ref: string): boolean {
    return this.#all.has(ref);
  }

  get(ref: string): RequestDetails | undefined {
    return this.#all.get(ref);
  }

  /** The one that was pinned last is the first. */
  entries(): [string, RequestDetails][] {
    return [...this.#all].toReversed();
  }

  /** Pins it, or replaces what is kept of it. */
  put(ref: string, details: RequestDetails): void {
    this.#all.set(ref, details);
    const [oldest] = this.#all.keys();
    if (this.#all.size > MOST_PINNED && oldest !== undefined) this.#all.delete(oldest);
    this.#changed();
  }

  /** Keeps a request that the server does not have, under a name of its own, which is returned. */
  import(details: RequestDetails): string {
    let id = 1;
    while (this.#all.has(refOf(IMPORTED, id))) id++;
    const ref = refOf(IMPORTED, id);
    this.put(ref, { ...details, id });
    return ref;
  }

  remove(ref: string): void {
    if (this.#all.delete(ref)) this.#changed();
  }

  #changed(): void {
    try {
      sessionStorage.setItem(STORED, JSON.stringify([...this.#all]));
    } catch {
      // The browser has no space left: they are kept until the tab is closed or loaded again.
    }
    this.#onChange();
  }
}

function read(): [string, RequestDetails][] {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? '[]') as [string, RequestDetails][];
  } catch {
    return [];
  }
}
