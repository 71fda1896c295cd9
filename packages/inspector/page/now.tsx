import type { ComponentChildren, JSX } from 'preact';
import type { Now as NowState, Point, Trouble } from '../src/wire.js';
import { boot, clear, formatAddress, lookedAt, now, points, refOf, shownTroubles, state } from './data.js';
import { Badge, CauseCard, useStill } from './parts.js';
import { clock, count, duration, lastOf, poolLine, transactionsLine, troublesLine } from './words.js';

/** The troubles, and the present state. */
export function Now(): JSX.Element {
  return (
    <>
      <Troubles />
      <section class="stack" aria-label="At this moment">
        {now.value && <Present now={now.value} />}
        <Process />
      </section>
    </>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Present({ now: { pool, transactions, kinds, scopes } }: { readonly now: NowState }): JSX.Element {
  const isFull = pool?.max !== undefined && pool.open - pool.idle >= pool.max;
  return (
    <>
      <Card title="Connections and transactions">
        <p class="full" data-mood={isFull ? 'warn' : undefined}>
          {pool ? poolLine(pool) : 'No IDatabasePool that reports its size.'}
        </p>
        <p class="hint">Transactions: {transactionsLine(transactions)}</p>
      </Card>
      <Card title="Open scopes">
        <p class="hint">{kinds.map(({ box, open }) => `${count(open)} ${lastOf(box)}`).join(', ')}</p>
        {scopes.map(({ id, count: many, box, age, where }) => (
          <p key={id}>
            {many > 1 && `${count(many)} × `}
            {lastOf(box)} for {duration(age)}, opened{' '}
            {where === undefined ? 'before the recording began' : <code>{where}</code>}
          </p>
        ))}
      </Card>
    </>
  );
}

const megabytes = (bytes: number): string => `${count(Math.round(bytes / 1_000_000))} MB`;

const MEASURES = [
  { name: 'Memory', of: ({ rss }) => rss, text: ({ rss, heap }) => `${megabytes(rss)}, heap ${megabytes(heap)}` },
  { name: 'Processor', of: ({ cpu }) => cpu, text: ({ cpu }) => `${Math.round(100 * cpu)} %` },
  { name: 'Loop delay', of: ({ delay }) => delay, text: ({ delay }) => duration(delay) },
  { name: 'Rows read', of: ({ rows }) => rows, text: ({ rows }) => count(rows) },
] satisfies { name: string; of: (point: Point) => number; text: (point: Point) => string }[];

/** The process over time, a small line for each measure. */
function Process(): JSX.Element | null {
  const newest = points.value.at(-1);
  if (!newest) return null;
  return (
    <Card title="Process, the last minutes">
      <dl class="measures">
        {MEASURES.map(({ name, of, text }) => (
          <div key={name}>
            <dt>{name}</dt>
            <Line values={points.value.map(of)} />
            <dd>{text(newest)}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

/** From 0 to the highest value. */
function Line({ values }: { readonly values: readonly number[] }): JSX.Element {
  const [most, last] = [Math.max(...values, Number.MIN_VALUE), Math.max(1, values.length - 1)];
  const at = (value: number, i: number): string => `${(100 * i) / last},${22 - (20 * value) / most}`;
  return (
    <svg viewBox="0 0 100 24" width="100%" height="24" preserveAspectRatio="none" fill="none" aria-hidden="true">
      <polyline points={values.map(at).join(' ')} stroke="var(--accent)" vector-effect="non-scaling-stroke" />
    </svg>
  );
}

/** The troubles, by cause, each with its reason and its line: they come first on the page. */
function Troubles(): JSX.Element {
  const { shown, newer, handlers } = useStill(shownTroubles.value, boot.value);
  return (
    <section class="stack" aria-label="Troubles">
      <div class="chips">
        <p role="status">
          {troublesLine(shownTroubles.value, state.value?.always)}
          {newer > 0 && ` ${count(newer)} came meanwhile.`}
        </p>
        {shown.length > 0 && (
          <button class="toggle" onClick={clear}>
            Clear
          </button>
        )}
      </div>
      <ol class="stack" {...handlers}>
        {shown.map((trouble) => (
          <li key={trouble.id}>
            <TroubleCard trouble={trouble} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function TroubleCard({ trouble }: { readonly trouble: Trouble }): JSX.Element {
  const { id, kind, cause, count: occurred, failed, lost, first, last, routes, requests } = trouble;
  const when = clock(first) === clock(last) ? clock(last) : `${clock(first)} – ${clock(last)}`;
  const more = (
    <>
      {routes.length > 0 && <p class="hint">on {routes.join(', ')}</p>}
      <p class="chips">
        {requests.toReversed().map((request, i) => (
          <a key={request} class="toggle" href={formatAddress({ view: 'requests', item: refOf(request), at: id })}>
            {i === 0 ? `Request ${request}, step by step` : request}
          </a>
        ))}
        {kind === 'graph' && (
          <a class="toggle" href={formatAddress({ view: 'graph', at: cause })}>
            Show in the graph
          </a>
        )}
      </p>
    </>
  );
  return (
    <CauseCard {...trouble} more={more}>
      {first > lookedAt.value && <Badge text="new" mood="good" />}
      <b>{count(occurred)}×</b>
      {failed > 0 && <Badge text={`${count(failed)} failed`} mood="bad" />}
      {lost >= 1 && <span>{duration(lost)}</span>}
      <span class="hint">{when}</span>
    </CauseCard>
  );
}
