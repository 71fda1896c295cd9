import type { StatementStats } from '../../src/wire.js';
import { type Column, DataTable, Polled } from './data-table.js';
import { byId, h, setText } from '../dom.js';
import { filterOf } from '../filter/filter.js';
import { count, duration } from '../format.js';
import { fetchStatements } from '../stream/connection.js';
import type { Sorting } from './rows.js';

const NONE = 'No statement yet. Each appears here when it was sent.';
const SINCE = 'Since the recording started, without literals. Choose a statement to see its requests.';
const FAILED = 'The server does not respond. These are the last numbers that it sent.';

const ORDERS: Readonly<Record<string, Sorting>> = {
  'Most time': { column: 'total', descending: true },
  Slowest: { column: 'longest', descending: true },
  'Most repeated': { column: 'count', descending: true },
  Failed: { column: 'failed', descending: true },
};

const COLUMNS: readonly Column<StatementStats>[] = [
  { name: 'statement', value: ({ sql }) => sql, text: ({ sql }) => sql },
  { name: 'count', value: ({ count: all }) => all, text: ({ count: all }) => count(all) },
  { name: 'total', value: ({ totalMs }) => totalMs, text: ({ totalMs }) => duration(totalMs) },
  {
    name: 'p95',
    about: '95 of 100 took no longer',
    value: ({ p95 }) => p95,
    text: ({ p95 }) => duration(p95),
  },
  { name: 'longest', value: ({ longestMs }) => longestMs, text: ({ longestMs }) => duration(longestMs) },
  {
    name: 'failed',
    value: ({ failed }) => failed,
    text: ({ failed }) => count(failed),
    mood: ({ failed }) => (failed > 0 ? 'bad' : ''),
  },
  {
    name: 'outside',
    about: 'Sent outside of a transaction',
    value: ({ outside }) => outside,
    text: ({ outside }) => count(outside),
  },
  {
    name: 'code',
    about: 'The line of code that sent it first',
    value: ({ where = '' }) => where,
    text: ({ where = '' }) => where,
  },
  { name: 'routes', value: ({ routes }) => routes.length, text: ({ routes }) => routes.join(', ') },
];

/** Every statement that was sent since the recording started: how often, and how long it took. */
export class StatementsPanel {
  readonly #note = h('p', { class: 'hint', role: 'status' }, NONE);
  readonly #table: DataTable<StatementStats>;
  readonly #polled = new Polled(
    fetchStatements,
    (statements) => this.#show(statements),
    () => setText(this.#note, FAILED),
  );

  constructor(open: (filter: string) => void) {
    this.#table = new DataTable({
      label: 'Statements',
      columns: COLUMNS,
      sorting: { column: 'total', descending: true },
      idOf: ({ sql }) => sql,
      openTitle: 'Show its requests',
      onOpen: ({ sql }) => open(filterOf('statement', sql)),
    });
    const orders = Object.entries(ORDERS).map(([name, sorting]) => {
      const button = h('button', { class: 'toggle' }, name);
      button.addEventListener('click', () => this.#table.sortBy(sorting));
      return button;
    });
    byId('statements').append(
      h(
        'div',
        { class: 'card' },
        h('h2', {}, 'Statements'),
        this.#note,
        h('div', { class: 'orders' }, ...orders),
        this.#table.element,
      ),
    );
  }

  set shown(shown: boolean) {
    this.#polled.shown = shown;
  }

  #show(statements: readonly StatementStats[]): void {
    setText(this.#note, statements.length === 0 ? NONE : SINCE);
    this.#table.show(statements);
  }
}
