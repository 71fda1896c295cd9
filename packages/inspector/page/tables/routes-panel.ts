import type { RouteStats } from '../../src/wire.js';
import { type Column, DataTable, Polled } from './data-table.js';
import { byId, h, setText } from '../dom.js';
import { filterOf } from '../filter/filter.js';
import { count, duration, share } from '../format.js';
import { type RouteRow, routeRows } from './rows.js';
import { fetchRoutes } from '../stream/connection.js';

const NONE = 'No request yet. Each route appears here with its first response.';
const FAILED = 'The server does not respond. These are the last numbers that it sent.';

const number = (name: string, value: (row: RouteRow) => number, about?: string): Column<RouteRow> => ({
  name,
  ...(about !== undefined && { about }),
  value,
  text: (row) => count(value(row)),
});
const time = (name: string, value: (row: RouteRow) => number, about?: string): Column<RouteRow> => ({
  ...number(name, value, about),
  text: (row) => duration(value(row)),
});
const bad = (column: Column<RouteRow>): Column<RouteRow> => ({
  ...column,
  mood: (row) => (Number(column.value(row)) > 0 ? 'bad' : ''),
});

const COLUMNS: readonly Column<RouteRow>[] = [
  { name: 'route', value: nameOf, text: nameOf },
  number('requests', ({ count: all }) => all),
  time('p50', ({ p50 }) => p50, 'Half of the requests took no longer'),
  time('p95', ({ p95 }) => p95, '95 of 100 requests took no longer'),
  time('p99', ({ p99 }) => p99, '99 of 100 requests took no longer'),
  time('longest', ({ longest }) => longest),
  bad({
    name: 'errors',
    about: 'The share of responses from 500 on',
    value: ({ errorShare }) => errorShare,
    text: ({ errorShare }) => share(errorShare),
  }),
  number('refused', ({ refused }) => refused, 'Responses from 400 to 499'),
  bad(number('aborted', ({ aborted }) => aborted, 'The client disconnected before the response was complete')),
  bad(number('rolled back', ({ rolledBack }) => rolledBack)),
  {
    name: 'SQL each',
    about: 'Statements for each request',
    value: ({ statementsEach }) => statementsEach,
    text: ({ statementsEach }) => statementsEach.toFixed(1),
  },
  {
    name: 'time',
    about: 'Its share of the time of all requests',
    value: ({ timeShare }) => timeShare,
    text: ({ timeShare }) => share(timeShare),
  },
];

/** How often each route was called since the recording started, how long it took, and how it went. */
export class RoutesPanel {
  readonly #note = h('p', { class: 'hint', role: 'status' }, NONE);
  readonly #table: DataTable<RouteRow>;
  readonly #polled = new Polled(
    fetchRoutes,
    (routes) => this.#show(routes),
    () => setText(this.#note, FAILED),
  );

  constructor(open: (filter: string) => void) {
    this.#table = new DataTable({
      label: 'Routes',
      columns: COLUMNS,
      sorting: { column: 'time', descending: true },
      idOf: nameOf,
      openTitle: 'Show its requests',
      onOpen: ({ method, route }) => open(`method:${method.toLowerCase()} ${filterOf('route', route)}`),
    });
    byId('routes').append(h('div', { class: 'card' }, h('h2', {}, 'Routes'), this.#note, this.#table.element));
  }

  set shown(shown: boolean) {
    this.#polled.shown = shown;
  }

  #show(routes: readonly RouteStats[]): void {
    setText(
      this.#note,
      routes.length === 0 ? NONE : 'Since the recording started. Choose a route to see its requests.',
    );
    this.#table.show(routeRows(routes));
  }
}

function nameOf({ method, route }: RouteStats): string {
  return `${method} ${route}`;
}
