import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { Total } from '../src/wire.js';
import { address, formatAddress, go } from './data.js';
import { Choice, Place, Search, Sql, useNewest, useStill } from './parts.js';
import { count, duration, routeText, share } from './words.js';

interface Column {
  readonly name: string;
  /** The value that rows are sorted by: the largest number first. */
  readonly value: (row: Total) => number | string;
  /** The content of the cell. */
  readonly show: (row: Total) => ComponentChildren;
  /** An explanation of the name. */
  readonly about?: string;
  /** A number above 0 is bad news. */
  readonly isBad?: boolean;
  /** Its cells are texts, which may be broken. */
  readonly isText?: boolean;
}

type Numbers = Exclude<keyof Total, 'name' | 'routes' | 'where'>;

/** A column with a number. */
const number = (name: string, key: Numbers, about = '', isBad = false): Column => {
  const value = (row: Total): number => row[key] ?? 0;
  return { name, value, show: (row) => count(value(row)), about, isBad };
};
/** A column with a duration. */
const time = (name: string, key: Numbers, about = ''): Column => {
  const value = (row: Total): number => row[key] ?? 0;
  return { name, value, show: (row) => duration(value(row)), about };
};
/** A column with a number for each request. */
const each = (name: string, key: Numbers, show: (part: number) => string, about: string, isBad = false): Column => {
  const value = (row: Total): number => (row[key] ?? 0) / row.count;
  return { name, value, show: (row) => show(value(row)), about, isBad };
};

/** A link to the requests of a route. */
const routeLink = (name: string): JSX.Element => (
  <a key={name} title="Show its requests" href={formatAddress({ view: 'requests', q: `"${name}"` })}>
    {name}
  </a>
);

const SORTED_BY = 'time';

const ROUTES: readonly Column[] = [
  { name: 'route', value: ({ name }) => name, show: ({ name }) => routeLink(routeText(name)) },
  number('requests', 'count'),
  time('p50', 'p50', 'Half of the requests took no longer'),
  time('p95', 'p95', '95 of 100 requests took no longer'),
  time('p99', 'p99', '99 of 100 requests took no longer'),
  time('longest', 'longest'),
  each('errors', 'failed', share, 'The share of responses from 500 on', true),
  number('4xx', 'refused', 'Responses from 400 to 499'),
  number('aborted', 'aborted', 'The client disconnected before the response was complete', true),
  number('not committed', 'rolledBack', 'Its last transaction was rolled back or refused'),
  each('SQL each', 'statements', (part) => part.toFixed(1), 'Statements for each request'),
  time(SORTED_BY, 'total', 'Of all its requests together'),
];

const STATEMENTS: readonly Column[] = [
  { name: 'statement', value: ({ name }) => name, show: ({ name }) => <Sql text={name} /> },
  number('count', 'count'),
  time(SORTED_BY, 'total', 'Of all of them together'),
  time('p95', 'p95', '95 of 100 took no longer'),
  time('longest', 'longest'),
  number('failed', 'failed', '', true),
  number('outside', 'outside', 'Sent outside of a transaction'),
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

const KINDS = {
  routes: { label: 'Routes', path: 'routes', columns: ROUTES },
  statements: { label: 'Statements', path: 'statements?limit=1000', columns: STATEMENTS },
} as const;

/** Routes and statements since the recording began, in two tables. */
export function Totals(): JSX.Element {
  const kind = address.value.item === 'statements' ? 'statements' : 'routes';
  return (
    <div class="card" id={kind}>
      <Choice
        label="Totals"
        options={{ routes: 'Routes', statements: 'Statements' }}
        chosen={kind}
        onChoose={(one) => go({ view: 'totals', item: one })}
      />
      <Table key={kind} {...KINDS[kind]} />
    </div>
  );
}

/** A row that nobody finds is not worth its time; sorting and the search show others. */
const MOST = 200;

/** A table whose rows are sorted by the buttons in its header. The first column names the row. */
function Table(props: { readonly label: string; readonly path: string; readonly columns: readonly Column[] }) {
  const { label, path, columns } = props;
  const rows = useNewest<readonly Total[]>(path) ?? [];
  const sorting = useSignal({ column: SORTED_BY, descending: true });
  const words = useSignal('');
  const { column, descending } = sorting.value;
  const found = rows.filter(({ name }) => name.toLowerCase().includes(words.value.toLowerCase().trim()));
  const value = columns.find(({ name }) => name === column)?.value ?? (({ name }: Total) => name);
  const { shown, isOver, handlers } = useStill(sorted(found, value, descending).slice(0, MOST), ({ name }) => name);
  const sortBy = ({ name, value: of }: Column): void => {
    const isNumber = rows[0] !== undefined && typeof of(rows[0]) === 'number';
    sorting.value = { column: name, descending: name === column ? !descending : isNumber };
    isOver.value = false;
  };
  return (
    <>
      <p class="hint" role="status">
        Since the recording began: {count(shown.length)} of {count(rows.length)}. A route leads to its requests.
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
                {columns.map(({ name, show, value: of, isBad, isText }, i) =>
                  i === 0 ? (
                    <th key={name} scope="row">
                      {show(row)}
                    </th>
                  ) : (
                    <td
                      key={name}
                      class={isText ? 'text' : undefined}
                      data-mood={isBad && Number(of(row)) > 0 ? 'bad' : undefined}
                    >
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

function sorted(rows: readonly Total[], of: Column['value'], descending: boolean): readonly Total[] {
  const compare = (one: number | string, other: number | string): number =>
    typeof one === 'number' ? one - Number(other) : one.localeCompare(String(other), 'en');
  return rows.toSorted((one, other) => (descending ? -1 : 1) * compare(of(one), of(other)));
}
