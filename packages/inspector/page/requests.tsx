import { computed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { ExplainedRequest, RequestSummary } from '../src/wire.js';
import { address, boot, formatAddress, go, idOf, newest, now, read, refOf, requests } from './data.js';
import { Badge, badgeOf, useStill } from './parts.js';
import { RequestView } from './request.js';
import { clock, count, duration, listLine, marksOf, stateMark } from './words.js';

interface RowProps {
  readonly request: RequestSummary;
  readonly isChosen?: boolean;
  readonly q?: string | undefined;
}

/** One request as a row. */
function Row({ request, isChosen, q }: RowProps): JSX.Element {
  const { id, method, route, milliseconds, arrived, trouble } = request;
  return (
    <a
      class={trouble ? 'request trouble' : 'request'}
      href={formatAddress({ view: 'requests', item: refOf(id), q })}
      aria-current={isChosen ? 'true' : undefined}
    >
      <span class="hint">{clock(arrived)}</span>
      <span class="method">{method}</span>
      <span class="route">{route}</span>
      <span class="status">
        <Badge {...stateMark(request)} />
      </span>
      <span class="took">{milliseconds === undefined ? '' : duration(milliseconds)}</span>
      <span class="chips">{marksOf(request).map(badgeOf)}</span>
    </a>
  );
}

/** True if a request has all words of the filter; quotes make one word of several. */
function matches(request: RequestSummary, filter: string, ref: string): boolean {
  const { method, route, status, state, trouble } = request;
  const marks = marksOf(request).map(({ text }) => text);
  const all = [`${method} ${route} ${status ?? ''}`, trouble ? 'trouble' : '', state, ref, ...marks]
    .join('\n')
    .toLowerCase();
  const words = Array.from(filter.matchAll(/"([^"]*)"?|(\S+)/g), ([, quoted, word = '']) => quoted ?? word);
  return words.every((word) => all.includes(word.toLowerCase()));
}

/** The filter finds older ones. */
const MOST_DRAWN = 200;

const fitting = computed(() => {
  const { q = '' } = address.value;
  return newest.value.filter((request) => matches(request, q, refOf(request.id)));
});

/** The newest requests; under the mouse nothing moves. */
function RequestList(): JSX.Element {
  const { item, q = '' } = address.value;
  const { shown, newer, handlers } = useStill(fitting.value, ({ id }) => id, `${boot.value} ${q}`);
  return (
    <div class="card listing">
      <div class="tools chips">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter: trouble, or words of route, status, marks …"
          value={q}
          onInput={({ currentTarget }) => go({ ...address.value, q: currentTarget.value }, 'replace')}
        />
        <p class="hint numbers-line">
          {now.value && listLine(Math.min(fitting.value.length, MOST_DRAWN), now.value.arrived)}
          {newer > 0 && `, ${count(newer)} came meanwhile`}
        </p>
      </div>
      <div class="list" role="region" aria-label="Requests" tabIndex={-1} {...handlers}>
        {shown.length === 0 && <p class="empty">No request. They appear here as they come.</p>}
        {shown.slice(0, MOST_DRAWN).map((request) => (
          <Row key={request.id} request={request} isChosen={refOf(request.id) === item} q={q} />
        ))}
      </div>
    </div>
  );
}

const FORGOTTEN = 'The server has no more of this request: it keeps the newest, of one recording.';

/** Without details, the server has no more of it. */
interface Opened {
  readonly ref: string;
  readonly details?: ExplainedRequest | undefined;
}

/** The newest requests, and one of them in detail. */
export function Requests(): JSX.Element {
  const { item } = address.value;
  const opened = useSignal<Opened | undefined>(undefined);
  const id = idOf(item);
  const summary = requests.value.get(id ?? -1);
  const isGoingOn = summary?.state === 'open' || (summary?.open ?? 0) > 0;
  useEffect(() => {
    if (item === undefined || boot.value === undefined) return;
    const show = (details?: ExplainedRequest): void => {
      if (address.value.item === item) opened.value = { ref: item, details };
    };
    if (id === undefined) return show();
    read<ExplainedRequest>(`request?id=${id}`).then(show, () => show());
  }, [item, boot.value, isGoingOn ? now.value : summary]);
  return (
    <div class={item === undefined ? 'both' : 'both opened'}>
      <RequestList />
      <Pane opened={item !== undefined && opened.value?.ref === item ? opened.value : undefined} />
    </div>
  );
}

/** The request that is opened. */
function Pane({ opened }: { readonly opened: Opened | undefined }): JSX.Element {
  const content = useRef<HTMLDivElement>(null);
  const { item, q, at } = address.value;
  const { ref, details } = opened ?? {};
  const close = (): void => go({ view: 'requests', q }, 'replace');
  // At the step that it was opened for.
  useLayoutEffect(() => {
    content.current?.scrollTo(0, 0);
    const row = content.current?.querySelector('[data-at]');
    const bottom = content.current?.getBoundingClientRect().bottom ?? 0;
    if (row && row.getBoundingClientRect().bottom > bottom) row.scrollIntoView({ block: 'center' });
  }, [ref, at, details === undefined]);
  return (
    <div class="card pane" onKeyDown={({ key }) => key === 'Escape' && close()}>
      {item !== undefined && (
        <div class="tools chips">
          <button class="toggle back" onClick={close}>
            ← Requests
          </button>
          <span class="hint">{item}</span>
        </div>
      )}
      {opened && !details && (
        <p class="tools badge" data-mood="warn" role="status">
          {FORGOTTEN}
        </p>
      )}
      <div class="details" role="region" aria-label="Request" tabIndex={0} ref={content}>
        {details && <RequestView key={ref} request={details} at={at} />}
        {item === undefined && (
          <p class="empty">Choose a request to see, step by step, what it opened, created, stored and disposed.</p>
        )}
      </div>
    </div>
  );
}
