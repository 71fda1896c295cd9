import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Container, ContainerError, type Key } from '@ambit/container';
import type { PoolSize } from '@ambit/transaction';
import { withoutLiterals } from '@ambit/transaction/host';
import { label } from './names.js';
import { LONG_WAIT_MS } from './signs.js';
import type { Store } from './store.js';
import { KnownLines, Where } from './where.js';
import type { Outcome } from './wire.js';

/** The channels whose messages could not be recorded. */
const failing = new Set<string>();

/**
 * Subscribes to diagnostics channels; the returned function stops that. Node exits for an error that a subscriber throws, so none
 * leaves from here: the application goes on, and loses at most a record.
 */
export function subscribeAll<M>(handlers: Readonly<Record<string, (message: M) => void>>): () => void {
  const listeners = Object.entries(handlers).map(([name, handle]) => {
    const listener = (message: unknown): void => {
      try {
        handle(message as M);
      } catch {
        // Once for each channel, and without the message of the error, which may contain values.
        const text = `The inspector could not record a message of ${name}`;
        if (failing.size < failing.add(name).size) process.emitWarning(text, { type: 'InspectorWarning' });
      }
    };
    subscribe(name, listener);
    return () => unsubscribe(name, listener);
  });
  return () => listeners.forEach((stop) => stop());
}

interface Message {
  readonly scope: Container;
  readonly parent: object;
  readonly key: Key;
  readonly pool: object;
  readonly connection: object;
  /** The options by which a connection was asked for. */
  readonly by: object;
  readonly milliseconds: number;
  readonly sql: string;
  readonly rows?: number;
  /** The object that announced a statement. */
  readonly statement?: object;
  /** It has settled. */
  readonly work: object;
  readonly outcome: Exclude<Outcome, 'refused'>;
  readonly error?: unknown;
  /** The request of Node that was recorded. */
  readonly request: object;
  readonly file?: string;
  /** A finding of `transactionCheck()` of @ambit/transaction/check. */
  readonly kind: string;
  readonly place?: { readonly file: string; readonly line: number };
}

/** A shorter wait is not worth a line: a connection was free. */
const SHORTEST_WAIT_MS = 1;

/** Makes records of what the container, transactions and their pools publish. The returned function stops that. */
export function listen(store: Store): () => void {
  const statements = statementsOf(store);
  const waited = (took: number, { error, pool, scope }: { error?: unknown; pool?: object; scope?: object }): void => {
    const isWait = took >= LONG_WAIT_MS || error !== undefined;
    const holders = isWait ? store.holders(store.now() - took, pool) : {};
    const facts = { took, ...holders, place: store.current()?.asking };
    store.record(error === undefined ? 'connection' : 'no connection', facts, { scope, error });
  };
  /** A pool of another package publishes nothing itself. */
  let isForeign = true;
  return subscribeAll<Message>({
    'ambit:scope:opened': ({ scope }) => store.opened(scope),
    'ambit:scope:closed': ({ scope }) => store.closed(scope),
    'ambit:instance:created': ({ scope, key, milliseconds }) => store.created(scope, key, milliseconds, true),
    'ambit:transient:created': ({ scope, key, milliseconds }) => store.created(scope, key, milliseconds, false),
    'ambit:creation:failed': failures(store),
    'ambit:instance:disposed': ({ scope, key, error }) => store.disposed(scope, key, error),
    'ambit:statement:sent': ({ statement, sql }) => statement && statements.sent(statement, sql),
    'ambit:statement:outside': (completed) => statements.completed(completed),
    'ambit:transaction:statement': (completed) => statements.completed(completed, completed.scope),
    'ambit:connection:acquired': ({ pool, connection, by, milliseconds }) => {
      isForeign = false;
      if (milliseconds >= SHORTEST_WAIT_MS) waited(milliseconds, { pool });
      // A transaction asks with an object of its own class; the line of a statement is known.
      const isAlone = Object.getPrototypeOf(by) === Object.prototype && !store.current()?.asking;
      store.takes(connection, { pool, by, place: isAlone ? new Where() : store.current()?.asking });
    },
    'ambit:connection:released': ({ connection }) => store.releases(connection),
    'ambit:connection:refused': ({ pool, milliseconds, error }) => {
      isForeign = false;
      waited(milliseconds, { error, pool });
    },
    'ambit:work:failed': ({ scope, error }) => store.workFailed(scope, error),
    'ambit:work:settled': (message) => store.settled(message),
    'ambit:handler:failed': ({ error }) => store.failed(error),
    // A pool of @ambit/transaction has reported the wait already.
    'ambit:transaction:refused': ({ parent, milliseconds, error }) => {
      if (!store.knows(parent)) return;
      store.refused(parent);
      if (isForeign) waited(milliseconds, { error, scope: parent });
    },
    'ambit:transaction:acquired': ({ scope, milliseconds, by }) => {
      if (!store.knows(scope)) return;
      if (isForeign || milliseconds < SHORTEST_WAIT_MS) waited(milliseconds, { scope });
      store.acquired(scope, by);
    },
    'ambit:transaction:begun': ({ scope, milliseconds }) => store.begun(scope, milliseconds),
    'ambit:transaction:finished': ({ scope, outcome, milliseconds, error }) =>
      store.finished(scope, outcome, milliseconds, error),
    'ambit:transaction:reported': ({ error }) => {
      const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
      if (code === 'AMBIT_TX_CALLBACK_FAILED')
        store.record('callback failed', { place: Where.of(cause) }, { error: cause });
    },
    'ambit:request:recorded': ({ request, file }) => store.recordedAs(request, file),
    'ambit:transaction:finding': ({ kind, place, key, sql }) => {
      const where = place && `${place.file}:${place.line}`;
      store.record('finding', { found: kind, where, key, sql: sql && withoutValues(sql) });
    },
  });
}

const LONGEST_SQL = 2000;
const LONGEST_ORIGINAL = 20_000;
const MOST_TEXTS = 1000;

/** The text of a statement, on one line, without literals and comments. */
function withoutValues(sql: string): string {
  const text = withoutLiterals(sql.slice(0, 4 * LONGEST_SQL), { text: "'…'", number: '?' })
    .replaceAll(/\s+/g, ' ')
    .trim();
  return text.length > LONGEST_SQL ? `${text.slice(0, LONGEST_SQL)}…` : text;
}

/** Records each statement, where the code sent it, and how long it took. */
function statementsOf(store: Store) {
  const lines = new KnownLines();
  const texts = new Map<string, string>();
  /** Most statements are sent again and again: one string of each is kept. */
  const textOf = (sql: string): string => {
    const known = texts.get(sql);
    if (known !== undefined) return known;
    const text = withoutValues(sql);
    const shared = texts.get(text) ?? text;
    if (texts.size >= MOST_TEXTS) texts.clear();
    texts.set(shared, shared);
    if (sql.length <= LONGEST_SQL) texts.set(sql, shared);
    return shared;
  };
  return {
    /** Called within the call that sends the statement. */
    sent: (statement: object, sql: string): void => store.begins(statement, lines.of(store.current()?.name ?? '', sql)),
    completed({ sql, milliseconds: took, rows = 0, error, statement }: Message, scope?: object): void {
      const sent = statement && store.ends(statement);
      // Its scope is closed: a statement that failed came too late.
      if (scope && !store.knows(scope) && error === undefined) return;
      // The stack of an error says it of this one.
      const thrown = Where.of(error);
      const place = thrown?.line === undefined ? sent?.place : thrown;
      const row = store.statement(textOf(sql), { took, rows, place }, { scope, error });
      if (row && sql.length <= LONGEST_ORIGINAL) row.sql ??= sql;
    },
  };
}

/** Records the services that could not be created: an error that passes several of them is one record. */
function failures(store: Store): (message: Pick<Message, 'error' | 'key' | 'scope'>) => void {
  /** The error that was published last, and the keys that it has passed. */
  let last: { readonly error: unknown; readonly path: string[] } | undefined;
  return ({ scope, key, error }) => {
    if (!store.knows(scope)) return;
    const name = label(key);
    const known = last?.error === error ? last?.path : undefined;
    // A service may throw the same error object again.
    if (known && known.at(-1) !== name) {
      // The container's own errors have the whole path already.
      if (!known.includes(name)) known.unshift(name);
      return;
    }
    const path = error instanceof ContainerError && error.path.length > 0 ? error.path.map(label) : [name];
    last = { error, path };
    store.record('failed', { key: path.at(-1) ?? name, path, place: Where.of(error) }, { scope, error });
  };
}

interface CallMessage {
  readonly request: object & {
    /** Set by undici, and so by `fetch`. */
    readonly origin?: unknown;
    /** Set by `node:http`. */
    readonly host?: unknown;
    getHeader?(name: string): unknown;
    readonly method?: unknown;
  };
  readonly response?: { readonly statusCode?: number };
  readonly error?: unknown;
}

const SOMEWHERE = 'another server';

/** The host and port of the request. Its path, password and headers may contain values. */
function hostOf(request: CallMessage['request']): string {
  const { origin, host } = request;
  if (origin instanceof URL) return origin.host;
  if (typeof origin === 'string') return URL.canParse(origin) ? new URL(origin).host : SOMEWHERE;
  if (typeof host !== 'string') return SOMEWHERE;
  const name = host.includes(':') ? `[${host}]` : host;
  // Node says the port only in the header that it makes; the application may have set another one.
  const header = request.getHeader?.('host');
  const isMade = typeof header === 'string' && header.startsWith(name) && /^:\d+$/.test(header.slice(name.length));
  return isMade ? header : name;
}

/**
 * Records what the handlers of requests ask other servers, by `fetch` or `node:http`. The returned function stops that. Node before 22.12
 * publishes a request of `node:http` when the stack has lost the line that made it.
 */
export function outgoingCalls(store: Store): () => void {
  const statuses = new WeakMap<object, number>();
  const begin = ({ request }: CallMessage): void => {
    // Node announces one of `node:http` when it is made, and when it starts.
    if (statuses.has(request) || !store.origin()) return;
    statuses.set(request, 0);
    store.begins(request, new Where(), hostOf(request));
  };
  const headersOf = ({ request, response }: CallMessage): void => void statuses.set(request, response?.statusCode ?? 0);
  const end = ({ request, error }: CallMessage): void => {
    const { request: of, place, host = '', started = 0 } = store.ends(request) ?? {};
    if (!of) return;
    const [status = 0, { method }] = [statuses.get(request), request];
    const known = { ...(status > 0 && { status }), ...(typeof method === 'string' && { method }) };
    store.record('call', { took: store.now() - started, host, place, ...known }, { of, error });
  };
  return subscribeAll<CallMessage>({
    'undici:request:create': begin,
    'undici:request:headers': headersOf,
    'undici:request:trailers': end,
    'undici:request:error': end,
    'http.client.request.created': begin,
    'http.client.request.start': begin,
    'http.client.response.finish': (message) => {
      headersOf(message);
      end(message);
    },
    'http.client.request.error': end,
  });
}

/**
 * Records the rejections that nobody handles, of an application that listens to them: where none listens the process exits, as without an
 * inspector. The returned function stops that.
 */
export function unhandledRejections(store: Store): () => void {
  const event = 'unhandledRejection';
  const note = (error: unknown): void => {
    // The application listens no more, so nothing keeps the process.
    if (process.listenerCount(event) === 1) throw error;
    store.unhandled(error);
  };
  const begin = (name: string | symbol): void => {
    if (name === event && !process.listeners(event).includes(note)) process.on(event, note);
  };
  if (process.listenerCount(event) > 0) begin(event);
  process.on('newListener', begin);
  return () => process.off('newListener', begin).off(event, note);
}

/** The use of the application's connection pool; undefined where it has none that reports its size. */
export function poolOf(container: Container): PoolSize | undefined {
  try {
    if (container.disposed || !container.has('IDatabasePool')) return undefined;
    const { size } = container.resolve<{ readonly size?: PoolSize }>('IDatabasePool' as string);
    return size && { open: size.open, idle: size.idle, waiting: size.waiting, ...(size.max && { max: size.max }) };
  } catch {
    return undefined;
  }
}
