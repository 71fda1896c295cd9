import type { GraphView, Hello, RequestDetails, Tick } from '../src/wire.js';
import { byId, setText } from './dom.js';
import type { Store } from './store.js';

const RETRY_MS = 1000;

/** Keeps the store up to date while the page is open, also across restarts of the server. */
export function connect(store: Store): void {
  const source = new EventSource('events');
  source.addEventListener('hello', ({ data }: MessageEvent<string>) => {
    show('live');
    store.begin(JSON.parse(data) as Hello);
  });
  source.addEventListener('message', ({ data }: MessageEvent<string>) => store.tick(JSON.parse(data) as Tick));
  source.addEventListener('error', () => {
    show('reconnecting');
    // The browser reconnects by itself, but not after an error response.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => connect(store), RETRY_MS);
  });
}

export function fetchGraph(): Promise<GraphView> {
  return read('graph') as Promise<GraphView>;
}

export async function fetchExplanation(node: string): Promise<string> {
  const { explanation } = (await read(`explain?node=${encodeURIComponent(node)}`)) as { explanation: string };
  return explanation;
}

export function fetchRequest(id: number): Promise<RequestDetails> {
  return read(`requests/${id}`) as Promise<RequestDetails>;
}

async function read(path: string): Promise<unknown> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

function show(state: 'live' | 'reconnecting'): void {
  const element = byId('connection');
  element.dataset['state'] = state;
  setText(element, state);
}
