import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { RequestDetails } from '../../src/wire.js';
import { formatAddress, parseRef } from '../address.js';
import { address, go } from '../navigation.js';
import { Copy, EditorSettings } from '../places.js';
import { messages, newest, store, troubles } from '../state.js';
import { fetchRequest } from '../stream/connection.js';
import { RequestList } from './request-list.js';
import { RequestView } from './request-view.js';

/** Where the list and the request are beside each other; elsewhere one of them is shown. */
const WIDE = matchMedia('(min-width: 861px)');

const FORGOTTEN = 'The server has forgotten this request for newer ones.';
const OTHER_RECORDING = 'This request was recorded before the recording started again: the server has forgotten it.';

interface Opened {
  readonly ref: string;
  readonly details?: RequestDetails | undefined;
  /** Why there is no more of it. */
  readonly problem?: string | undefined;
}

const opened = signal<Opened | undefined>(undefined);

type Play = (id: number) => void;

/** Plays the request that is opened, also one whose steps are still on their way; what the server has forgotten it cannot play. */
export function playOpened(play: Play): void {
  const { view, item = '' } = address.value;
  const { boot, id } = parseRef(item) ?? {};
  const isForgotten = opened.value?.ref === item && opened.value.problem !== undefined;
  if (view === 'requests' && id !== undefined && boot === store.hello?.boot && !isForgotten) play(id);
}

/** The newest requests, and one of them in detail. */
export function Requests({ play }: { readonly play: Play }): JSX.Element {
  const { item } = address.value;
  useEffect(() => {
    if (item === undefined && WIDE.matches) openNewestTrouble();
  }, [store.hello?.boot]);
  useEffect(() => {
    // Until the first message the page does not know which recording it is.
    if (store.hello) void load(item);
  }, [item, messageOf(item)]);
  return (
    <div class={item === undefined ? 'both' : 'both opened'}>
      <RequestList />
      <Pane opened={item === undefined ? undefined : opened.value} play={play} />
    </div>
  );
}

/** One that is at the top of the troubles; its waterfall is what one wants to see. */
function openNewestTrouble(): void {
  const { q } = address.value;
  if (q !== undefined) return;
  const [id] = troubles.value.flatMap(({ requests }) => requests.at(-1) ?? []);
  const trouble = id ?? newest.value.find((request) => request.trouble)?.id;
  if (trouble !== undefined) go({ view: 'requests', item: store.refOf(trouble) }, 'replace');
}

/** Changes where the request is to be read again. */
function messageOf(item: string | undefined): unknown {
  const message = messages.value;
  const { boot, id = -1 } = parseRef(item ?? '') ?? {};
  if (boot !== store.hello?.boot) return store.hello?.boot;
  const request = store.requests.get(id);
  const isGoingOn = request !== undefined && (request.state === 'open' || request.open > 0);
  return isGoingOn ? message : request;
}

async function load(ref: string | undefined): Promise<void> {
  if (ref === undefined) return void (opened.value = undefined);
  const known = opened.value?.ref === ref ? opened.value.details : undefined;
  const { boot, id = -1 } = parseRef(ref) ?? {};
  if (boot !== store.hello?.boot) return void (opened.value = { ref, details: known, problem: OTHER_RECORDING });
  if (!known) opened.value = { ref };
  const details = await fetchRequest(id).catch(() => undefined);
  if (opened.value?.ref !== ref) return;
  opened.value = details ? { ref, details } : { ref, details: known, problem: FORGOTTEN };
}

/** The request that is opened. */
function Pane({ opened: shown, play }: { opened: Opened | undefined; play: Play }): JSX.Element {
  const content = useRef<HTMLDivElement>(null);
  const { ref, details, problem } = shown ?? {};
  const { q, at } = address.value;
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
      {ref !== undefined && (
        <div class="tools chips">
          <button class="toggle back" onClick={close}>
            ← Requests
          </button>
          <a class="hint ref" title="The address of this request" href={formatAddress({ view: 'requests', item: ref })}>
            {ref}
          </a>
          {details && problem === undefined && (
            <button class="toggle" title="Show it in slow motion (p)" onClick={() => play(details.id)}>
              Play in the graph
            </button>
          )}
          <Copy
            class="toggle"
            name="Copy link"
            text={() => new URL(formatAddress({ view: 'requests', item: ref }), location.href).href}
          />
          {details && problem === undefined && (
            <a class="toggle" href={`requests/${details.id}`} target="_blank">
              JSON
            </a>
          )}
        </div>
      )}
      {problem !== undefined && (
        <p class="tools badge warn" role="status">
          {problem}
        </p>
      )}
      <div class="details" role="region" aria-label="Request" tabIndex={0} ref={content}>
        {details && <RequestView key={ref} request={details} at={troubles.value.find(({ id }) => id === at)} />}
        {details && <EditorSettings />}
        {ref === undefined && (
          <p class="empty">Choose a request to see, step by step, what it opened, created, stored and disposed.</p>
        )}
      </div>
    </div>
  );
}
