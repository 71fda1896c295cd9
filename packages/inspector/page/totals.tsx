import type { JSX } from 'preact';
import type { RouteStats, StatementStats } from '../src/wire.js';
import { formatAddress } from './address.js';
import { count, duration, lastOf, share } from './format.js';
import { address, go } from './navigation.js';
import { Choice, Sql } from './parts.js';
import { Place } from './places.js';
import { usePolled } from './polled.js';
import { phrase } from './requests/request-data.js';
import { routeText } from './sentences.js';
import { fetchRoutes, fetchStartUp, fetchStatements } from './stream/connection.js';
import { type StartUpRow, startUpRows } from './rows.js';
import { type Column, Table } from './table.js';

const KINDS = { routes: 'Routes', statements: 'Statements', 'start-up': 'Start-up' };
type Kind = keyof typeof KINDS;

/** What was counted since the recording began, in three tables. */
export function Totals(): JSX.Element {
  const { item = '' } = address.value;
  const kind = Object.hasOwn(KINDS, item) ? (item as Kind) : 'routes';
  return (
    <div class="card" id={kind}>
      <Choice label="Totals" options={KINDS} chosen={kind} onChoose={(one) => go({ view: 'totals', item: one })} />
      {kind === 'routes' && <Routes />}
      {kind === 'statements' && <Statements />}
      {kind === 'start-up' && <StartUpTable />}
    </div>
  );
}

const FAILED = 'The server does not respond. This is what it sent last.';

function Note({ failed, children }: { failed?: boolean | undefined; children: string }): JSX.Element {
  return (
    <p class="hint" role="status">
      {failed ? FAILED : children}
    </p>
  );
}

/** A link to the requests that have this text. */
function RequestsWith({ text, name = text }: { readonly text: string; readonly name?: string }): JSX.Element {
  return (
    <a title="Show its requests" href={formatAddress({ view: 'requests', q: phrase(text) })}>
      {name}
    </a>
  );
}

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
  { name: 'route', value: nameOf, show: (row) => <RequestsWith text={nameOf(row)} /> },
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
  number(
    'not committed',
    ({ rolledBack }) => rolledBack,
    'Its last transaction was rolled back, refused, or nobody knows',
  ),
  {
    name: 'SQL each',
    about: 'Statements for each request',
    value: ({ statements, count: all }) => part(statements, all),
    show: ({ statements, count: all }) => part(statements, all).toFixed(1),
  },
  time('time', ({ total }) => total, 'Of all its requests together'),
];

function Routes(): JSX.Element {
  const { value: rows = [], failed } = usePolled(fetchRoutes);
  return (
    <>
      <Note failed={failed}>
        {rows.length === 0
          ? 'No request yet. Each route appears here with its first response.'
          : 'Since the recording began. A route leads to its requests.'}
      </Note>
      <Table label="Routes" rows={rows} columns={ROUTES} sortedBy="time" idOf={nameOf} />
    </>
  );
}

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
    show: ({ sql, routes }) => <RequestsWith text={sql} name={routes.join(', ')} />,
  },
];

function Statements(): JSX.Element {
  const { value: rows = [], failed } = usePolled(fetchStatements);
  return (
    <>
      <Note failed={failed}>
        {rows.length === 0
          ? 'No statement yet. Each appears here when it was sent.'
          : 'Since the recording began, without literals. The routes lead to the requests that sent it.'}
      </Note>
      <Table label="Statements" rows={rows} columns={STATEMENTS} sortedBy="total" idOf={({ sql }) => sql} />
    </>
  );
}

const START_UP: readonly Column<StartUpRow>[] = [
  {
    name: 'service',
    value: ({ key }) => key,
    show: ({ key, box }) => (
      <>
        {key} <span class="hint">{lastOf(box)}</span>
      </>
    ),
  },
  time('itself', ({ own }) => own, 'Without what was created for it'),
  time('in all', ({ took }) => took),
  time('complete', ({ at }) => at, 'After the process started'),
];

function StartUpTable(): JSX.Element {
  const { value, failed } = usePolled(fetchStartUp);
  const { inspected = 0, firstRequest, services = [] } = value ?? {};
  const first =
    firstRequest === undefined
      ? 'No request has arrived yet.'
      : `The first request arrived after ${duration(firstRequest)}.`;
  return (
    <>
      <Note failed={failed}>
        {`What was created before the first request. The inspector was created ${duration(inspected)} after the process started; ` +
          `what was created before that is not seen. ${services.length === 0 ? 'Nothing was created since.' : first}`}
      </Note>
      <Table
        label="Start-up"
        rows={value ? startUpRows(value) : []}
        columns={START_UP}
        sortedBy="itself"
        idOf={({ box, key }) => `${box} ${key}`}
      />
    </>
  );
}
