import type { JSX } from 'preact';
import type { Now as NowState } from '../src/wire.js';
import { age, count, lastOf, lifetimeOf } from './format.js';
import { Card } from './parts.js';
import { Place } from './places.js';
import { Rates } from './rates.js';
import { Row } from './requests/request-list.js';
import { kindLine, poolLines, transactionsLine } from './sentences.js';
import { messages, newest, pool, store } from './state.js';
import { type ShowsProblem, Troubles } from './troubles.js';

const MOST_LISTED = 12;
const MOST_OLD = 5;

/** What is wrong, and what goes on. */
export function Now({ showProblem }: ShowsProblem): JSX.Element {
  void messages.value;
  const { now } = store;
  return (
    <div class="now-columns">
      <div class="main">
        <Troubles showProblem={showProblem} />
        <section aria-label="Newest requests">
          <h2>Newest requests</h2>
          {newest.value.length === 0 ? (
            <p class="hint">No request yet. They appear here as they come.</p>
          ) : (
            <div class="card list">
              {newest.value.slice(0, MOST_LISTED).map((request) => (
                <Row key={request.id} request={request} reference={store.refOf(request.id)} />
              ))}
            </div>
          )}
        </section>
      </div>
      <aside class="beside" aria-label="At this moment">
        <Rates />
        {now && <Pool now={now} />}
        {now && <Scopes now={now} />}
      </aside>
    </div>
  );
}

const MOST_LAMPS = 60;

function Pool({ now: { pool: size, transactions } }: { readonly now: NowState }): JSX.Element {
  const lines = size && poolLines(size, pool.peak(Date.now()));
  const inUse = size ? size.open - size.idle : 0;
  const lamps = Math.min(MOST_LAMPS, size?.max ?? size?.open ?? 0);
  return (
    <Card title="Connections and transactions">
      {lines ? (
        <>
          <p>{lines.now}</p>
          <p class="chips" aria-hidden="true">
            {Array.from({ length: lamps }, (_, i) => (
              <i key={i} class={i < inUse ? 'lamp lit' : 'lamp'} />
            ))}
          </p>
          <p class="hint">{lines.most}</p>
        </>
      ) : (
        <p class="hint">No IDatabasePool that reports its size.</p>
      )}
      <p class="hint">Transactions: {transactionsLine(transactions)}</p>
    </Card>
  );
}

function Scopes({ now: { kinds, scopes } }: { readonly now: NowState }): JSX.Element {
  const old = scopes.filter((scope) => scope.old);
  return (
    <Card title="Open scopes">
      {kinds.map(({ box, ...rates }) => (
        <p key={box} class="chips">
          <span class="badge" data-lifetime={lifetimeOf(box)} title={box}>
            {lastOf(box)}
          </span>
          {kindLine(rates)}
        </p>
      ))}
      {old.length > 0 && <p class="hint">Open for long:</p>}
      {old.slice(0, MOST_OLD).map(({ id, box, age: sinceMs, atLeast, where }) => (
        <p key={id} class="old">
          {lastOf(box)} for {atLeast && 'more than '}
          {age(sinceMs)}
          {where === undefined && ', opened before the recording began'}
          {where?.[0] !== undefined && (
            <>
              {', opened at '}
              <Place where={where[0]} />
            </>
          )}
        </p>
      ))}
      {old.length > MOST_OLD && <p class="hint">and {count(old.length - MOST_OLD)} more</p>}
    </Card>
  );
}
