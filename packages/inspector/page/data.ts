import { computed, signal } from '@preact/signals';
import type { Hello, Now, RequestSummary, Tick, Trouble } from '../src/wire.js';

/** The content of the URL after `#`, such as `#/requests/1f0c2a9b-17?at=1x3f9z`. */
export interface Address {
  readonly view: string;
  /** The id of the item that is open in the view. */
  readonly item?: string | undefined;
  /** The filter. */
  readonly q?: string | undefined;
  /** The id of the trouble whose step is to be shown. */
  readonly at?: string | undefined;
}

export const VIEWS: Readonly<Record<string, string>> = {
  now: 'Now',
  requests: 'Requests',
  graph: 'Graph',
  totals: 'Totals',
};

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [view = '', item] = path.split('/');
  const parameters = new URLSearchParams(query);
  const [q, at] = [parameters.get('q'), parameters.get('at')];
  return { view: Object.hasOwn(VIEWS, view) ? view : 'now', ...(item && { item }), ...(q && { q }), ...(at && { at }) };
}

export function formatAddress({ view, item, q, at }: Address): string {
  const query = new URLSearchParams({ ...(q && { q }), ...(at && { at }) }).toString();
  return `#/${view}${item ? `/${item}` : ''}${query && `?${query}`}`;
}

/** The view, item, filter and time that the page shows. */
export const address = signal<Address>({ view: 'now' });

/** Leads to an address; `replace` where the button "back" is not to return to the one before. */
export function go(to: Address, how: 'push' | 'replace' = 'push'): void {
  const hash = formatAddress(to);
  if (hash !== location.hash) history[`${how}State`](undefined, '', hash);
  address.value = to;
}

export const hello = signal<Hello | undefined>(undefined);
export const now = signal<Now | undefined>(undefined);
export const requests = signal<ReadonlyMap<number, RequestSummary>>(new Map());
/** How many requests came in the last second. */
export const rate = signal(0);
/** The troubles of this recording, by cause. */
export const troubles = signal<readonly Trouble[]>([]);
/** Those of the recording before the last restart: a restart does not take away what one reads. */
export const earlier = signal<readonly Trouble[]>([]);
export const connection = signal<'connecting' | 'live' | 'no response' | 'reconnecting'>('connecting');

export const newest = computed(() => [...requests.value.values()].toSorted((one, other) => other.id - one.id));

/** Requests of all recordings have names of their own: `<boot>-<id>`. */
export const refOf = (id: number): string => `${hello.value?.boot ?? ''}-${id}`;

/** The id of a request of the present recording; undefined of another one. */
export function idOf(ref: string | undefined): number | undefined {
  const [, boot, id] = /^([\w-]+)-(\d+)$/.exec(ref ?? '') ?? [];
  return boot !== undefined && boot === hello.value?.boot ? Number(id) : undefined;
}

const MESSAGES_PER_SECOND = 4;
/** The number of requests so far, in the messages of the last second. */
let arrivals: readonly number[] = [];

/** The complete state: everything before it is void. */
export function begin(state: Hello): void {
  if (state.boot !== hello.value?.boot && troubles.value.length > 0) earlier.value = troubles.value;
  hello.value = state;
  requests.value = new Map();
  troubles.value = [];
  arrivals = [];
  take(state);
}

/** A change. */
export function take(tick: Tick): void {
  now.value = tick.now;
  arrivals = [...arrivals, tick.now.arrived].slice(-MESSAGES_PER_SECOND - 1);
  rate.value = tick.now.arrived - (arrivals[0] ?? 0);
  if (tick.troubles) troubles.value = tick.troubles;
  if (tick.requests.length > 0) requests.value = kept([...requests.value.values(), ...tick.requests]);
}

/** As many as the server keeps: the newest with trouble, and the newest without. */
function kept(all: readonly RequestSummary[]): ReadonlyMap<number, RequestSummary> {
  const byId = new Map(all.map((request) => [request.id, request]));
  const { keep = 0, keepTrouble = 0 } = hello.value ?? {};
  const left = { true: keepTrouble, false: keep };
  for (const { id, trouble } of [...byId.values()].toSorted((one, other) => other.id - one.id))
    if (left[`${trouble}`]-- <= 0) byId.delete(id);
  return byId;
}

const RETRY_MS = 1000;
const SILENT_MS = 3000;

/** Follows the server while the tab is visible: a browser opens six connections to a server, so hidden tabs have none. */
export function connect(): void {
  const follow = (): void => void (address.value = parseAddress(location.hash));
  for (const event of ['hashchange', 'popstate']) addEventListener(event, follow);
  follow();
  let source: EventSource | undefined;
  let silent: ReturnType<typeof setTimeout> | undefined;
  const heard = (): void => {
    connection.value = 'live';
    clearTimeout(silent);
    silent = setTimeout(() => (connection.value = 'no response'), SILENT_MS);
  };
  const close = (): void => {
    clearTimeout(silent);
    source?.close();
    source = undefined;
  };
  const open = (): void => {
    close();
    if (document.hidden) return;
    const opened = new EventSource('events');
    source = opened;
    opened.addEventListener('hello', ({ data }: MessageEvent<string>) => {
      heard();
      begin(JSON.parse(data) as Hello);
    });
    opened.addEventListener('message', ({ data }: MessageEvent<string>) => {
      heard();
      take(JSON.parse(data) as Tick);
    });
    opened.addEventListener('error', () => {
      clearTimeout(silent);
      connection.value = 'reconnecting';
      // The browser reconnects by itself, but not after an error response.
      if (opened.readyState === EventSource.CLOSED) setTimeout(() => source === opened && open(), RETRY_MS);
    });
  };
  document.addEventListener('visibilitychange', open);
  addEventListener('pagehide', close);
  addEventListener('pageshow', ({ persisted }) => persisted && open());
  open();
}

/** Reads data of the server. */
export async function read<T>(path: string): Promise<T> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await response.text());
  return response.json() as Promise<T>;
}
