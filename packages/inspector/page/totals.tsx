import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { RouteStats, StatementStats } from '../src/wire.js';
import { address, formatAddress, go, read } from './data.js';
import { Choice, Place, Sql, stillUnder, usePolled, useStill } from './parts.js';
import { count, duration, routeText, share } from './words.js';

const KINDS = { routes: 'Routes', statements: 'Statements' };

/** Routes and statements since the recording began, in two tables. */
export function Totals(): JSX.Element {
  const kind = address.value.item === 'statements' ? 'statements' : 'routes';
  return (
    <div class="card" id={kind}>
      <Choice label="Totals" options={KINDS} chosen={kind} onChoose={(one) => go({ view: 'totals', item: one })} />
      {kind === 'routes' ? <Routes /> : <Statements />}
    </div>
  );
}

interface Column<Row> {
  readonly name: string;
  /** An explanation of the name. */
  readonly about?: string;
  /** The value that rows are sorted by: the largest number first. */
  readonly value: (row: Row) => number | string;
  /** The content of the cell; by default the value. */
  readonly show?: (row: Row) => ComponentChildren;
  readonly mood?: (row: Row) => 'bad' | undefined;
  /** Its cells are texts, which may be broken. */
  readonly isText?: boolean;
}

/** A row that nobody finds is not worth its time; sorting and the search show others. */
const MOST = 200;

interface TableProps<Row> {
  readonly label: string;
  readonly about: string;
  readonly load: () => Promise<readonly Row[]>;
  readonly columns: readonly Column<Row>[];
  readonly sortedBy: string;
  readonly idOf: (row: Row) => string;
}

/** A table whose rows are sorted by the buttons in its header. The first column names the row. */
function Table<Row>({ label, about, load, columns, sortedBy, idOf }: TableProps<Row>): JSX.Element {
  const { value: rows = [], failed } = usePolled(load);
  const sorting = useSignal({ column: sortedBy, descending: true });
  const words = useSignal('');
  const isOver = useSignal(false);
  const { column, descending } = sorting.value;
  const found = rows.filter((row) => idOf(row).toLowerCase().includes(words.value.toLowerCase().trim()));
  const { value } = columns.find(({ name }) => name === column) ?? { value: idOf };
  const { shown } = useStill(sorted(found, value, descending).slice(0, MOST), idOf, isOver.value);
  const sortBy = ({ name, value: of }: Column<Row>): void => {
    const isNumber = rows[0] !== undefined && typeof of(rows[0]) === 'number';
    sorting.value = { column: name, descending: name === column ? !descending : isNumber };
    isOver.value = false;
  };
  const numbers = shown.length < rows.length ? ` ${count(shown.length)} of ${count(rows.length)}.` : '';
  return (
    <>
      <p class="hint" role="status">
        {failed ? 'The server does not respond. This is what it sent last.' : about + numbers}
      </p>
      <input
        type="search"
        placeholder="Find"
        aria-label={`Find in ${label}`}
        value={words.value}
        onInput={({ currentTarget }) => (words.value = currentTarget.value)}
      />
      <div class="scroller" role="region" aria-label={label} tabIndex={0}>
        <table class="data" aria-label={label}>
          <thead>
            <tr>
              {columns.map((one) => (
                <th
                  key={one.name}
                  scope="col"
                  class={one.isText ? 'text' : undefined}
                  aria-sort={one.name === column ? (descending ? 'descending' : 'ascending') : undefined}
                >
                  <button title={one.about} onClick={() => sortBy(one)}>
                    {one.name}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody {...stillUnder(isOver)}>
            {shown.map((row) => (
              <tr key={idOf(row)}>
                {columns.map(({ name, value: of, show = of, mood, isText }, i) =>
                  i === 0 ? (
                    <th key={name} scope="row">
                      {show(row)}
                    </th>
                  ) : (
                    <td key={name} class={isText ? 'text' : undefined} data-mood={mood?.(row)}>
                      {show(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function sorted<Row>(rows: readonly Row[], of: (row: Row) => number | string, descending: boolean): readonly Row[] {
  const compare = (one: number | string, other: number | string): number =>
    typeof one === 'number' ? one - Number(other) : one.localeCompare(String(other), 'en');
  return rows.toSorted((one, other) => (descending ? -1 : 1) * compare(of(one), of(other)));
}

/** A link to the requests of a route. */
const routeLink = (name: string): JSX.Element => (
  <a key={name} title="Show its requests" href={formatAddress({ view: 'requests', q: `"${name}"` })}>
    {name}
  </a>
);

function number<Row>(name: string, value: (row: Row) => number, about?: string): Column<Row> {
  return { name, value, show: (row) => count(value(row)), ...(about !== undefined && { about }) };
}
function time<Row>(name: string, value: (row: Row) => number, about?: string): Column<Row> {
  return { ...number(name, value, about), show: (row) => duration(value(row)) };
}
function bad<Row>(column: Column<Row>): Column<Row> {
  return { ...column, mood: (row) => (Number(column.value(row)) > 0 ? 'bad' : undefined) };
}
const nameOf = ({ method, route }: RouteStats): string => `${method} ${routeText(route)}`;
const part = (some: number, all: number): number => (all === 0 ? 0 : some / all);

const ROUTES: readonly Column<RouteStats>[] = [
  { name: 'route', value: nameOf, show: (row) => routeLink(nameOf(row)) },
  number('requests', ({ count: all }) => all),
  time('p50', ({ p50 }) => p50, 'Half of the requests took no longer'),
  time('p95', ({ p95 }) => p95, '95 of 100 requests took no longer'),
  time('p99', ({ p99 }) => p99, '99 of 100 requests took no longer'),
  time('longest', ({ longest }) => longest),
  bad({
    name: 'errors',
    about: 'The share of responses from 500 on',
    value: ({ failed, count: all }) => part(failed, all),
    show: ({ failed, count: all }) => share(part(failed, all)),
  }),
  number('4xx', ({ refused }) => refused, 'Responses from 400 to 499'),
  bad(number('aborted', ({ aborted }) => aborted, 'The client disconnected before the response was complete')),
  number('not committed', ({ rolledBack }) => rolledBack, 'Its last transaction was rolled back or refused'),
  {
    name: 'SQL each',
    about: 'Statements for each request',
    value: ({ statements, count: all }) => part(statements, all),
    show: ({ statements, count: all }) => part(statements, all).toFixed(1),
  },
  time('time', ({ total }) => total, 'Of all its requests together'),
];

const STATEMENTS: readonly Column<StatementStats>[] = [
  { name: 'statement', value: ({ sql }) => sql, show: ({ sql }) => <Sql text={sql} /> },
  number('count', ({ count: all }) => all),
  time('total', ({ totalMs }) => totalMs),
  time('p95', ({ p95 }) => p95, '95 of 100 took no longer'),
  time('longest', ({ longestMs }) => longestMs),
  bad(number('failed', ({ failed }) => failed)),
  number('outside', ({ outside }) => outside, 'Sent outside of a transaction'),
  {
    name: 'code',
    about: 'The line of code that sent it first',
    isText: true,
    value: ({ where = '' }) => where,
    show: ({ where }) => where !== undefined && <Place where={where} />,
  },
  {
    name: 'routes',
    isText: true,
    value: ({ routes }) => routes.length,
    show: ({ routes }) => routes.flatMap((route, i) => [i > 0 && ', ', routeLink(routeText(route))]),
  },
];

const fetchRoutes = (): Promise<readonly RouteStats[]> => read('routes');
const fetchStatements = (): Promise<readonly StatementStats[]> => read('statements?limit=1000');

const Routes = (): JSX.Element => (
  <Table
    label="Routes"
    about="The requests since the recording began. A route leads to its requests."
    load={fetchRoutes}
    columns={ROUTES}
    sortedBy="time"
    idOf={nameOf}
  />
);

const Statements = (): JSX.Element => (
  <Table
    label="Statements"
    about="The statements since the recording began, without literals."
    load={fetchStatements}
    columns={STATEMENTS}
    sortedBy="total"
    idOf={({ sql }) => sql}
  />
);
