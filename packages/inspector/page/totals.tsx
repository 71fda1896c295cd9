import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { RouteTotal, StatementTotal } from '../src/wire.js';
import { address, formatAddress, go, read } from './data.js';
import { Choice, Place, Search, Sql, usePolled, useStill } from './parts.js';
import { count, duration, routeText, share } from './words.js';

const KINDS = { routes: 'Routes', statements: 'Statements' };

/** Routes and statements since the recording began, in two tables. */
export function Totals(): JSX.Element {
  const kind = address.value.item === 'statements' ? 'statements' : 'routes';
  return (
    <div class="card" id={kind}>
      <Choice label="Totals" options={KINDS} chosen={kind} onChoose={(one) => go({ view: 'totals', item: one })} />
      {kind === 'routes' ? (
        <Table
          key={kind}
          label="Routes"
          about="The requests since the recording began. A route leads to its requests."
          load={fetchRoutes}
          columns={ROUTES}
        />
      ) : (
        <Table
          key={kind}
          label="Statements"
          about="The statements since the recording began, without literals."
          load={fetchStatements}
          columns={STATEMENTS}
        />
      )}
    </div>
  );
}

const fetchRoutes = (): Promise<readonly RouteTotal[]> => read('routes');
const fetchStatements = (): Promise<readonly StatementTotal[]> => read('statements?limit=1000');

interface Column<Row> {
  readonly name: string;
  /** An explanation of the name. */
  readonly about?: string;
  /** The value that rows are sorted by: the largest number first. */
  readonly value: (row: Row) => number | string;
  /** The content of the cell; by default the value. */
  readonly show?: (row: Row) => ComponentChildren;
  /** A number above 0 is bad news. */
  readonly isBad?: boolean;
  /** Its cells are texts, which may be broken. */
  readonly isText?: boolean;
}

/** A row that nobody finds is not worth its time; sorting and the search show others. */
const MOST = 200;
const SORTED_BY = 'time';

interface TableProps<Row> {
  readonly label: string;
  readonly about: string;
  readonly load: () => Promise<readonly Row[]>;
  readonly columns: readonly Column<Row>[];
}

/** A table whose rows are sorted by the buttons in its header. The first column names the row. */
function Table<Row extends { readonly name: string }>({ label, about, load, columns }: TableProps<Row>): JSX.Element {
  const { value: rows = [], failed } = usePolled(load);
  const sorting = useSignal({ column: SORTED_BY, descending: true });
  const words = useSignal('');
  const { column, descending } = sorting.value;
  const found = rows.filter(({ name }) => name.toLowerCase().includes(words.value.toLowerCase().trim()));
  const value = columns.find(({ name }) => name === column)?.value ?? (({ name }: Row) => name);
  const { shown, isOver, handlers } = useStill(sorted(found, value, descending).slice(0, MOST), ({ name }) => name);
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
      <Search
        label={`Find in ${label}`}
        placeholder="Find"
        value={words.value}
        onSearch={(text) => (words.value = text)}
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
          <tbody {...handlers}>
            {shown.map((row) => (
              <tr key={row.name}>
                {columns.map((one, i) => (
                  <Cell key={one.name} row={row} column={one} isName={i === 0} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface CellProps<Row> {
  readonly row: Row;
  readonly column: Column<Row>;
  readonly isName: boolean;
}

function Cell<Row>({ row, column, isName }: CellProps<Row>): JSX.Element {
  const { value, show = value, isBad, isText } = column;
  if (isName) return <th scope="row">{show(row)}</th>;
  return (
    <td class={isText ? 'text' : undefined} data-mood={isBad && Number(value(row)) > 0 ? 'bad' : undefined}>
      {show(row)}
    </td>
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

/** A column with a number. */
function number<Row>(name: string, value: (row: Row) => number, more: Partial<Column<Row>> = {}): Column<Row> {
  return { name, value, show: (row) => count(value(row)), ...more };
}
/** A column with a duration. */
function time<Row>(name: string, value: (row: Row) => number, about = ''): Column<Row> {
  return { name, value, show: (row) => duration(value(row)), about };
}
const part = (some: number, all: number): number => (all === 0 ? 0 : some / all);

const ROUTES: readonly Column<RouteTotal>[] = [
  { name: 'route', value: ({ name }) => name, show: ({ name }) => routeLink(routeText(name)) },
  number('requests', (row) => row.count),
  time('p50', ({ p50 }) => p50, 'Half of the requests took no longer'),
  time('p95', ({ p95 }) => p95, '95 of 100 requests took no longer'),
  time('p99', ({ p99 }) => p99, '99 of 100 requests took no longer'),
  time('longest', ({ longest }) => longest),
  number('errors', (row) => part(row.failed, row.count), {
    show: (row) => share(part(row.failed, row.count)),
    about: 'The share of responses from 500 on',
    isBad: true,
  }),
  number('4xx', ({ refused }) => refused, { about: 'Responses from 400 to 499' }),
  number('aborted', ({ aborted }) => aborted, {
    about: 'The client disconnected before the response was complete',
    isBad: true,
  }),
  number('not committed', ({ rolledBack }) => rolledBack, { about: 'Its last transaction was rolled back or refused' }),
  number('SQL each', (row) => part(row.statements, row.count), {
    show: (row) => part(row.statements, row.count).toFixed(1),
    about: 'Statements for each request',
  }),
  time(SORTED_BY, ({ total }) => total, 'Of all its requests together'),
];

const STATEMENTS: readonly Column<StatementTotal>[] = [
  { name: 'statement', value: ({ name }) => name, show: ({ name }) => <Sql text={name} /> },
  number('count', (row) => row.count),
  time(SORTED_BY, ({ total }) => total, 'Of all of them together'),
  time('p95', ({ p95 }) => p95, '95 of 100 took no longer'),
  time('longest', ({ longest }) => longest),
  number('failed', ({ failed }) => failed, { isBad: true }),
  number('outside', ({ outside }) => outside, { about: 'Sent outside of a transaction' }),
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
    value: ({ routes = [] }) => routes.length,
    show: ({ routes = [] }) => routes.flatMap((route, i) => [i > 0 && ', ', routeLink(routeText(route))]),
  },
];
