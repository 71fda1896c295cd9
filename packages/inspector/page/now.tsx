import type { ComponentChildren, JSX } from 'preact';
import type { Now as NowState, Point, Trouble } from '../src/wire.js';
import { clear, formatAddress, lookedAt, now, points, refOf, shownTroubles, state } from './data.js';
import { Badge, CauseCard, Place, useStill } from './parts.js';
import { clock, count, duration, lastOf, poolLine, transactionsLine, troublesLine } from './words.js';

/** The troubles, and the present state. */
export function Now(): JSX.Element {
  const current = now.value;
  return (
    <div class="now-columns">
      <Troubles />
      <section class="beside" aria-label="At this moment">
        {current && (
          <section class="card">
            <h2>Connections and transactions</h2>
            <p class={isFull(current) ? 'full' : ''}>
              {current.pool ? poolLine(current.pool) : 'No IDatabasePool that reports its size.'}
            </p>
            <p class="hint">Transactions: {transactionsLine(current.transactions)}</p>
          </section>
        )}
        {current && <Scopes now={current} />}
        <Process />
      </section>
    </div>
  );
}

const isFull = ({ pool }: NowState): boolean => pool?.max !== undefined && pool.open - pool.idle >= pool.max;

function Scopes({ now: { kinds, scopes } }: { readonly now: NowState }): JSX.Element {
  return (
    <section class="card">
      <h2>Open scopes</h2>
      <p class="hint">{kinds.map(({ box, open }) => `${count(open)} ${lastOf(box)}`).join(', ')}</p>
      {scopes.map(({ id, count: many, box, age, where }) => (
        <p key={id} class="old">
          {many > 1 && `${count(many)} × `}
          {lastOf(box)} for {duration(age)}, opened{' '}
          {where === undefined ? 'before the recording began' : <Place where={where} />}
        </p>
      ))}
    </section>
  );
}

type Measure = Exclude<keyof Point, 'at' | 'heap'>;
const MEGABYTE = 1_000_000;
const MEASURES: readonly (readonly [Measure, name: string, text: (point: Point) => string])[] = [
  [
    'rss',
    'Memory',
    ({ rss, heap }) => `${count(Math.round(rss / MEGABYTE))} MB, heap ${Math.round(heap / MEGABYTE)} MB`,
  ],
  ['cpu', 'Processor', ({ cpu }) => `${Math.round(100 * cpu)} %`],
  ['delay', 'Loop delay', ({ delay }) => duration(delay)],
  ['rows', 'Rows read', ({ rows }) => count(rows)],
];

/** The process over time, a small line for each measure. */
function Process(): JSX.Element | null {
  const newest = points.value.at(-1);
  if (!newest) return null;
  return (
    <section class="card">
      <h2>Process, the last minutes</h2>
      <dl class="measures">
        {MEASURES.map(([measure, name, text]) => (
          <div key={measure}>
            <dt>{name}</dt>
            <Line values={points.value.map((point) => point[measure])} />
            <dd>{text(newest)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** From 0 to the highest value. */
function Line({ values }: { readonly values: readonly number[] }): JSX.Element {
  const [most, last] = [Math.max(...values, Number.MIN_VALUE), Math.max(1, values.length - 1)];
  const at = (value: number, i: number): string => `${(100 * i) / last},${22 - (20 * value) / most}`;
  return (
    <svg viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={values.map(at).join(' ')} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

/** The troubles, by cause, each with its reason and its line: they come first on the page. */
function Troubles(): JSX.Element {
  const { shown, newer, handlers } = useStill(shownTroubles.value, ({ id }) => id);
  return (
    <section class="trouble-list" aria-label="Troubles">
      <div class="chips">
        <p class={shown.length === 0 ? 'hint' : ''} role="status">
          {troublesLine(shownTroubles.value, state.value?.always)}
          {newer > 0 && ` ${count(newer)} came meanwhile.`}
        </p>
        {shown.length > 0 && (
          <button class="toggle" onClick={clear}>
            Clear
          </button>
        )}
      </div>
      {shown.length > 0 && (
        <ol {...handlers}>
          {shown.map((trouble) => (
            <TroubleCard key={trouble.id} trouble={trouble} />
          ))}
        </ol>
      )}
    </section>
  );
}

function TroubleCard({ trouble }: { readonly trouble: Trouble }): JSX.Element {
  const { id, kind, cause, count: occurred, failed, lost, first, last, routes, requests } = trouble;
  const linkTo = (request: number, text: ComponentChildren, kindOfLink = ''): JSX.Element => (
    <a key={request} class={kindOfLink} href={formatAddress({ view: 'requests', item: refOf(request), at: id })}>
      {text}
    </a>
  );
  const [newestOne, ...others] = requests.toReversed();
  const when = clock(first) === clock(last) ? clock(last) : `${clock(first)} – ${clock(last)}`;
  const more = (
    <>
      {routes.length > 0 && (
        <p class="hint">
          on {routes.join(', ')}
          {others.length > 0 && ' · also in request '}
          {others.flatMap((request, i) => [i > 0 && ', ', linkTo(request, request)])}
        </p>
      )}
      {newestOne !== undefined && linkTo(newestOne, `Request ${newestOne}, step by step`, 'toggle open')}
      {kind === 'graph' && (
        <a class="toggle open" href={formatAddress({ view: 'graph', at: cause })}>
          Show in the graph
        </a>
      )}
    </>
  );
  return (
    <li>
      <CauseCard {...trouble} more={more}>
        {first > lookedAt.value && <Badge text="new" mood="good" />}
        <b>{count(occurred)}×</b>
        {failed > 0 && <Badge text={`${count(failed)} failed`} mood="bad" />}
        {lost >= 1 && <span>{duration(lost)}</span>}
        <span class="hint">{when}</span>
      </CauseCard>
    </li>
  );
}
