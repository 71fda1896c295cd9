import { signal } from '@preact/signals';
import type { GraphView, Hello, RequestDetails, RouteStats, StartUp, StatementStats } from '../../src/wire.js';
import { EventStream } from './event-stream.js';
import { Feed, type Store, type StreamMessage } from './store.js';

/** The state of the stream. */
export const connection = signal<'connecting' | 'live' | 'reconnecting'>('connecting');

/** Calls `take` with the messages of the one stream that all tabs share. */
function joinStream(take: (message: StreamMessage) => void): void {
  if (typeof SharedWorker === 'undefined') return streamWhileVisible(take);
  const worker = new SharedWorker('assets/stream.js', 'ambit-inspector');
  worker.addEventListener('error', () => streamWhileVisible(take), { once: true });
  const { port } = worker;
  port.addEventListener('message', ({ data }: MessageEvent<StreamMessage>) => take(data));
  port.start();
  const join = (): void => port.postMessage('join');
  const leave = (): void => port.postMessage('leave');
  join();
  // A tab that is closed, or kept for the back button, or frozen reads nothing; what is sent to it would pile up.
  addEventListener('pagehide', leave);
  addEventListener('pageshow', ({ persisted }) => persisted && join());
  document.addEventListener('freeze', leave);
  document.addEventListener('resume', join);
}

/** Without a SharedWorker only a visible tab has a stream: of many tabs, few are visible. */
function streamWhileVisible(take: (message: StreamMessage) => void): void {
  const stream = new EventStream('events', take);
  const update = (): void => (document.hidden ? stream.close() : stream.open());
  document.addEventListener('visibilitychange', update);
  update();
}

/** Keeps the store up to date while the page is open, also across restarts of the server. */
export function connect(store: Store): void {
  const feed = new Feed(store, fetchState);
  joinStream((message) => {
    if (message.kind === 'reconnecting') {
      connection.value = 'reconnecting';
      // The stream does not say why it was refused; this does, where the login has expired.
      if (!document.hidden) fetchState().catch(() => undefined);
      return;
    }
    connection.value = 'live';
    feed.take(message);
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

export function fetchRoutes(): Promise<RouteStats[]> {
  return read('routes') as Promise<RouteStats[]>;
}

export function fetchStatements(): Promise<StatementStats[]> {
  return read('statements') as Promise<StatementStats[]>;
}

export function fetchStartUp(): Promise<StartUp> {
  return read('startup') as Promise<StartUp>;
}

function fetchState(): Promise<Hello> {
  return read('state') as Promise<Hello>;
}

async function read(path: string): Promise<unknown> {
  const response = await fetch(path);
  // The page asks for the token, which is valid for some hours.
  if (response.status === 401) location.reload();
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** Asks the server to list so many requests without trouble per second. */
export async function sample(perSecond: number): Promise<void> {
  await fetch('samples', { method: 'POST', body: String(perSecond) });
}
