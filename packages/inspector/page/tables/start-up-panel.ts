import type { StartUp } from '../../src/wire.js';
import { byId, h, setText } from '../dom.js';
import { duration, lastOf, lifetimeOf, share } from '../format.js';
import { Polled } from './data-table.js';
import { fetchStartUp } from '../stream/connection.js';
import { startUpLength, type StartUpOrder, type StartUpRow, startUpRows } from './rows.js';

const FAILED = 'The server does not respond. This is what it sent last.';
const ORDERS: Readonly<Record<StartUpOrder, string>> = { time: 'In order of time', cost: 'The most expensive first' };

/** Lists the services that the application created before its first request, with the time each took. */
export class StartUpPanel {
  readonly #note = h('p', { class: 'hint', role: 'status' });
  readonly #rows = h('tbody');
  readonly #table = h(
    'table',
    { class: 'data start-up', 'aria-label': 'What was created before the first request' },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['service', 'itself', 'in all', 'since the process started'].map((name) => h('th', { scope: 'col' }, name)),
      ),
    ),
    this.#rows,
  );
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #polled = new Polled(
    fetchStartUp,
    (startUp) => this.#show(startUp),
    () => setText(this.#note, FAILED),
  );
  #order: StartUpOrder = 'time';
  #drawn = '';
  #last: StartUp | undefined;

  constructor() {
    this.#buttons = (Object.keys(ORDERS) as StartUpOrder[]).map((order) => {
      const button = h('button', { class: 'toggle', 'aria-pressed': String(order === this.#order) }, ORDERS[order]);
      button.addEventListener('click', () => this.#sortBy(order, button));
      return button;
    });
    byId('start-up').append(
      h(
        'div',
        { class: 'card' },
        h('h2', {}, 'Start-up'),
        this.#note,
        h('div', { class: 'orders' }, ...this.#buttons),
        h('div', { class: 'scroller', role: 'region', 'aria-label': 'Start-up', tabindex: '0' }, this.#table),
      ),
    );
  }

  set shown(shown: boolean) {
    this.#polled.shown = shown;
  }

  #sortBy(order: StartUpOrder, chosen: HTMLButtonElement): void {
    this.#order = order;
    for (const button of this.#buttons) button.setAttribute('aria-pressed', String(button === chosen));
    if (this.#last) this.#show(this.#last);
  }

  #show(startUp: StartUp): void {
    this.#last = startUp;
    setText(this.#note, noteOf(startUp));
    const drawn = JSON.stringify([startUp, this.#order]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const length = startUpLength(startUp);
    this.#table.hidden = startUp.services.length === 0;
    this.#rows.replaceChildren(...startUpRows(startUp, length, this.#order).map((row) => rowOf(row, startUp, length)));
  }
}

function rowOf(
  { key, box, took, own, at, from, part }: StartUpRow,
  { inspected }: StartUp,
  length: number,
): HTMLElement {
  const bar = h('i', { class: 'bar' });
  bar.style.setProperty('--at', String(from));
  bar.style.setProperty('--took', String(part));
  const mark = h('i', { class: 'inspected' });
  mark.style.setProperty('--at', String(inspected / length));
  return h(
    'tr',
    { 'data-lifetime': lifetimeOf(box) },
    h('th', { scope: 'row', title: box }, `${key} `, h('span', { class: 'hint' }, lastOf(box))),
    h('td', {}, duration(own)),
    h('td', {}, duration(took)),
    h('td', { class: 'track', title: `from ${duration(at - took)} to ${duration(at)}, ${share(part)}` }, mark, bar),
  );
}

function noteOf({ inspected, firstRequest, services }: StartUp): string {
  const before = `The inspector was created ${duration(inspected)} after the process started; what was created before that is not seen.`;
  if (services.length === 0) return `${before} Nothing was created since, until the first request.`;
  const first =
    firstRequest === undefined
      ? 'No request has arrived yet.'
      : `The first request arrived after ${duration(firstRequest)}.`;
  return `${before} ${first}`;
}
