import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { Total } from '../src/wire.js';
import { address, formatAddress } from './data.js';
import { Place, Search, Sql, useNewest, useStill } from './parts.js';
import { count, duration, routeText } from './words.js';

/** A link to the requests of a route. */
const routeLink = (name: string): JSX.Element => (
  <a key={name} title="Show its requests" href={formatAddress({ view: 'requests', q: `"${name}"` })}>
    {routeText(name)}
  </a>
);

type Numbers = Exclude<keyof Total, 'name' | 'routes' | 'where'>;

/** The columns with numbers, each by its heading; those of one kind of row are empty for the other. */
const NUMBERS: Readonly<Record<string, readonly [key: Numbers, show: (value: number) => string, about: string]>> = {
  time: ['total', duration, 'Of all of them together'],
  count: ['count', count, 'Since the recording began'],
  p50: ['p50', duration, 'Half of them took no longer'],
  p95: ['p95', duration, '95 of 100 took no longer'],
  p99: ['p99', duration, '99 of 100 took no longer'],
  longest: ['longest', duration, ''],
  failed: ['failed', count, 'Responses from 500 on, and statements that were refused'],
  '4xx': ['refused', count, 'Responses from 400 to 499'],
  aborted: ['aborted', count, 'The client disconnected before the response was complete'],
  'not committed': ['rolledBack', count, 'The last transaction was rolled back or refused'],
  SQL: ['statements', count, 'Statements of all these requests'],
  outside: ['outside', count, 'Sent outside of a transaction'],
};
const BAD: ReadonlySet<string> = new Set(['failed', 'aborted']);

/** A row that nobody finds is not worth its time; sorting and the search show others. */
const MOST = 200;

/** Routes and statements since the recording began, in a table that is sorted by the buttons in its header. */
export function Totals(): JSX.Element {
  const kind = address.value.item === 'statements' ? 'statements' : 'routes';
  const rows = useNewest<readonly Total[]>(kind === 'routes' ? 'routes' : 'statements?limit=1000') ?? [];
  const column = useSignal('time');
  const words = useSignal('');
  const [key] = NUMBERS[column.value] ?? ['total'];
  const found = rows.filter(({ name }) => name.toLowerCase().includes(words.value.toLowerCase().trim()));
  const sorted = found.toSorted((one, other) => (other[key] ?? 0) - (one[key] ?? 0)).slice(0, MOST);
  const about = `${kind} ${column.value}`;
  const { shown, handlers } = useStill(sorted, ({ name }) => name, { about });
  const headings = Object.keys(NUMBERS).filter((one) => rows.some((row) => row[NUMBERS[one]?.[0] ?? 'count']));
  return (
    <div class="card" id={kind}>
      <nav class="chips" aria-label="Totals">
        {['routes', 'statements'].map((item) => (
          <a key={item} class="toggle" href={formatAddress({ view: 'totals', item })} aria-current={item === kind}>
            {item}
          </a>
        ))}
      </nav>
      <p class="hint" role="status">
        Since the recording began: {count(shown.length)} of {count(rows.length)}. A route leads to its requests.
      </p>
      <Search label="Find" placeholder="Find" value={words.value} onSearch={(text) => (words.value = text)} />
      <div class="scroller" role="region" aria-label="Totals" tabIndex={0}>
        <table class="data">
          <thead>
            <tr>
              <th scope="col">name</th>
              {headings.map((one) => (
                <th key={one} scope="col" aria-sort={one === column.value ? 'descending' : undefined}>
                  <button title={NUMBERS[one]?.[2]} onClick={() => (column.value = one)}>
                    {one}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody {...handlers}>
            {shown.map((row) => (
              <tr key={row.name}>
                <th scope="row">{kind === 'routes' ? routeLink(row.name) : statementOf(row)}</th>
                {headings.map((one) => (
                  <NumberCell key={one} heading={one} row={row} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function NumberCell({ heading, row }: { readonly heading: string; readonly row: Total }): JSX.Element {
  const [key, show] = NUMBERS[heading] ?? ['count', count];
  const value = row[key] ?? 0;
  return <td data-mood={BAD.has(heading) && value > 0 ? 'bad' : undefined}>{show(value)}</td>;
}

/** A statement, the line that sent it first, and its routes. */
const statementOf = ({ name, where, routes = [] }: Total): ComponentChildren => (
  <>
    <Sql text={name} />
    <span class="chips hint">
      {where !== undefined && <Place where={where} />}
      {routes.map(routeLink)}
    </span>
  </>
);
