import { computed, signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Now, Point, RequestSummary, State, Trouble } from '../src/wire.js';

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

function parseAddress(hash: string): Address {
  const { pathname, searchParams } = new URL(hash.slice(1), location.origin);
  const [, view = '', item] = pathname.split('/');
  return { view: view || 'now', item, q: searchParams.get('q') ?? undefined, at: searchParams.get('at') ?? undefined };
}

export function formatAddress({ view, item, q, at }: Address): string {
  const query = new URLSearchParams({ ...(q && { q }), ...(at && { at }) }).toString();
  return `#/${view}${item ? `/${item}` : ''}${query && `?${query}`}`;
}

/** The view, item, filter and time that the page shows. */
export const address = signal<Address>({ view: 'now' });

/** Shows another address in place of this one: the button "back" does not return here. */
export function replace(to: Address): void {
  history.replaceState(undefined, '', formatAddress(to));
  address.value = to;
}

/** The newest message of the server; its requests and troubles are those that had changed. */
export const state = signal<State | undefined>(undefined);
export const now = computed((): Now | undefined => state.value?.now);
export const boot = computed(() => state.value?.boot);
/** The newest first. */
export const requests = signal<readonly RequestSummary[]>([]);
/** The process over ten minutes, the oldest first. */
export const points = signal<readonly Point[]>([]);
const MOST_POINTS = 300;
/** The troubles of this recording, by cause. */
export const troubles = signal<readonly Trouble[]>([]);
/** By id the last occurrence of those that somebody has cleared: they come back when they occur again. */
const cleared = signal<ReadonlyMap<string, number>>(new Map());
export const shownTroubles = computed(() =>
  troubles.value.filter(({ id, last }) => last > (cleared.value.get(id) ?? 0)),
);
export const clear = (): void => void (cleared.value = new Map(troubles.value.map(({ id, last }) => [id, last])));
/** When somebody looked last, before the tab was hidden. */
export const lookedAt = signal(Date.now());
export const connection = signal<'connecting' | 'live' | 'no response' | 'reconnecting'>('connecting');

/** Requests of all recordings have names of their own: `<boot>-<id>`. */
export const refOf = (id: number): string => `${boot.value ?? ''}-${id}`;

/** The id of a request of the present recording; undefined of another one. */
export function idOf(ref = ''): number | undefined {
  const [of, id] = ref.split('-');
  return of === boot.value ? Number(id) : undefined;
}

const MOST_REQUESTS = 1300;
const EVERY_MS = 500;
const SILENT_MS = 3000;

/** Takes a message of the server. Of another recording it is complete, and everything before it is void. */
function take(message: State): void {
  const { process, troubles: all, requests: changed } = message;
  const isSame = message.boot === boot.value;
  const [former, measured] = isSame ? [requests.value, points.value] : [[], []];
  const ids = new Set(changed.map(({ id }) => id));
  // The server keeps no more of them.
  requests.value = [...changed, ...former.filter(({ id }) => !ids.has(id))]
    .toSorted((one, other) => other.id - one.id)
    .slice(0, MOST_REQUESTS);
  points.value = [...measured, ...process].slice(-MOST_POINTS);
  if (all) troubles.value = all;
  state.value = message;
}

/** Follows the address, and asks the server for what has changed, while the tab is visible. */
export async function connect(): Promise<never> {
  const follow = (): void => void (address.value = parseAddress(location.hash));
  addEventListener('hashchange', follow);
  follow();
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) lookedAt.value = Date.now();
  });
  for (;;) {
    if (!document.hidden) await ask();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

async function ask(): Promise<void> {
  const { version = 0 } = state.value ?? {};
  try {
    take(await read<State>(`state?boot=${boot.value ?? ''}&since=${version}`));
    connection.value = 'live';
  } catch (error) {
    connection.value = (error as Error).name === 'TimeoutError' ? 'no response' : 'reconnecting';
  }
}

async function read<T>(path: string): Promise<T> {
  const response = await fetch(path, { signal: AbortSignal.timeout(SILENT_MS) });
  if (!response.ok) throw new Error(await response.text());
  return response.json() as Promise<T>;
}

/** Reads a path of the server, again when `since` changes: the value, or why there is none; undefined until it has responded. */
export function useReading<T>(path: string | undefined, since?: unknown): T | Error | undefined {
  const reading = useSignal<{ readonly path: string; readonly said: T | Error } | undefined>(undefined);
  const current = useRef(path);
  current.current = path;
  useEffect(() => {
    if (path === undefined) return;
    const show = (said: T | Error): void => {
      if (current.current === path) reading.value = { path, said };
    };
    read<T>(path).then(show, show);
  }, [path, since]);
  return reading.value?.path === path ? reading.value?.said : undefined;
}
