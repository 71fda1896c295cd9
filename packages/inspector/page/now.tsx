import type { ComponentChildren, JSX } from 'preact';
import type { Now as NowState, Trouble } from '../src/wire.js';
import { formatAddress, now, refOf, state, troubles } from './data.js';
import { Badge, CauseCard, Place, useStill } from './parts.js';
import { clock, count, duration, lastOf, poolLine, routeText, transactionsLine, troublesLine } from './words.js';

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
      {scopes.map(({ id, box, age, where }) => (
        <p key={id} class="old">
          {lastOf(box)} for {duration(age)}, opened{' '}
          {where === undefined ? 'before the recording began' : <Place where={where} />}
        </p>
      ))}
    </section>
  );
}

/** The troubles, by cause, each with its reason and its line: they come first on the page. */
function Troubles(): JSX.Element {
  const { shown, newer, handlers } = useStill(troubles.value, ({ id }) => id);
  return (
    <section class="trouble-list" aria-label="Troubles">
      <p class={troubles.value.length === 0 ? 'hint' : ''} role="status">
        {troublesLine(troubles.value, state.value?.always)}
        {newer > 0 && ` ${count(newer)} came meanwhile.`}
      </p>
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
          on {routes.map(routeText).join(', ')}
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
        <b>{count(occurred)}×</b>
        {failed > 0 && <Badge text={`${count(failed)} failed`} mood="bad" />}
        {lost >= 1 && <span>{duration(lost)}</span>}
        <span class="hint">{when}</span>
      </CauseCard>
    </li>
  );
}
