import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ExplainedRequest, RequestSummary } from '../src/wire.js';
import { address, boot, formatAddress, idOf, now, refOf, replace, requests, useReading } from './data.js';
import { useStill } from './parts.js';
import { RequestView, Summary } from './request.js';
import { count, marksOf, times } from './words.js';

/** One request as a row. */
function Row({ request }: { readonly request: RequestSummary }): JSX.Element {
  const { item, q } = address.value;
  const ref = refOf(request.id);
  return (
    <a
      class={request.trouble ? 'request trouble' : 'request'}
      href={formatAddress({ view: 'requests', item: ref, q })}
      aria-current={ref === item ? 'true' : undefined}
    >
      <Summary request={request} />
    </a>
  );
}

/** True if a request has all words of the filter. */
function matches(request: RequestSummary, filter: string): boolean {
  const { id, method, route, status, state, trouble } = request;
  const marks = marksOf(request).map(({ text }) => text);
  const all = [method, route, status, state, refOf(id), trouble ? 'trouble' : '', ...marks].join(' ').toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** The filter finds older ones. */
const MOST_DRAWN = 200;

/** The newest requests; under the mouse nothing moves. */
function RequestList(): JSX.Element {
  const { q = '' } = address.value;
  const fitting = requests.value.filter((request) => matches(request, q));
  const { shown, newer, handlers } = useStill(fitting, `${boot.value} ${q}`);
  return (
    <div class="card listing">
      <div class="tools chips">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter: trouble, or words of route, status, marks …"
          value={q}
          onInput={({ currentTarget }) => replace({ ...address.value, q: currentTarget.value })}
        />
        <p class="hint">
          {count(Math.min(fitting.length, MOST_DRAWN))} of {times(now.value?.arrived ?? 0, 'request')}
          {newer > 0 && `, ${count(newer)} came meanwhile`}
        </p>
      </div>
      <div class="list" role="region" aria-label="Requests" tabIndex={-1} {...handlers}>
        {shown.length === 0 && <p class="empty">No request. They appear here as they come.</p>}
        {shown.slice(0, MOST_DRAWN).map((request) => (
          <Row key={request.id} request={request} />
        ))}
      </div>
    </div>
  );
}

/** The newest requests, and one of them in detail. */
export function Requests(): JSX.Element {
  return (
    <>
      <RequestList />
      <Pane />
    </>
  );
}

const FORGOTTEN = 'The server has no more of this request: it keeps the newest, of one recording.';

/** The request that is opened. */
function Pane(): JSX.Element {
  const content = useRef<HTMLDivElement>(null);
  const { item, q, at } = address.value;
  const id = idOf(item);
  const summary = requests.value.find((request) => request.id === id);
  const isGoingOn = summary?.state === 'open' || (summary?.open ?? 0) > 0;
  const path = item === undefined || !boot.value ? undefined : `request?id=${id}`;
  const details = useReading<ExplainedRequest>(path, isGoingOn ? now.value : summary);
  // At the step that it was opened for.
  useLayoutEffect(() => {
    content.current?.scrollTo(0, 0);
    const row = content.current?.querySelector('[data-at]');
    const bottom = content.current?.getBoundingClientRect().bottom ?? 0;
    if (row && row.getBoundingClientRect().bottom > bottom) row.scrollIntoView({ block: 'center' });
  }, [path, at, details === undefined]);
  return (
    <div class="card pane">
      {item !== undefined && (
        <div class="tools chips">
          <a class="toggle" href={formatAddress({ view: 'requests', q })}>
            ← Requests
          </a>
          <span class="hint">{item}</span>
        </div>
      )}
      {details instanceof Error && (
        <p class="tools badge" data-mood="warn" role="status">
          {FORGOTTEN}
        </p>
      )}
      <div class="details" role="region" aria-label="Request" tabIndex={0} ref={content}>
        {details && !(details instanceof Error) && <RequestView key={item} request={details} at={at} />}
        {item === undefined && (
          <p class="empty">Choose a request to see, step by step, what it opened, created, stored and disposed.</p>
        )}
      </div>
    </div>
  );
}
