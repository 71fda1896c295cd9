import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Container, ContainerError, type Key } from '@ambit/container';
import type { PoolSize } from '@ambit/transaction';
import { withoutLiterals } from '@ambit/transaction/host';
import { errorName, label } from './names.js';
import type { Awaited, Facts, RequestRecord } from './requests.js';
import { signOf } from './signs.js';
import type { Store } from './store.js';
import { Where } from './where.js';
import type { Line, Outcome, PoolNow } from './wire.js';

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
        warn(name);
      }
    };
    subscribe(name, listener);
    return () => unsubscribe(name, listener);
  });
  return () => listeners.forEach((stop) => stop());
}

/** Once for each channel, and without the message of the error, which may contain values. */
function warn(name: string): void {
  if (failing.has(name)) return;
  failing.add(name);
  process.emitWarning(`The inspector could not record a message of ${name}`, { type: 'InspectorWarning' });
}

interface Message extends Line {
  readonly scope: Container;
  readonly parent: object;
  readonly key: Key;
  readonly pool: object;
  readonly milliseconds: number;
  readonly sql: string;
  /** The object that announced a statement. */
  readonly statement?: object;
  readonly outcome: Exclude<Outcome, 'refused'>;
  readonly error?: unknown;
}

const LONGEST_LINE = 2000;
/** A shorter wait is not worth a line: a connection was free. */
const SHORTEST_WAIT_MS = 1;

/** Makes records of what the container, transactions and their pools publish. The returned function stops that. */
export function listen(store: Store, { lines = false } = {}): () => void {
  const statements = new Statements(store);
  const failures = new Failures(store);
  /** Holders are named only where there is one pool: a transaction does not say which pool it is on. */
  const pools = new Set<object>();
  const waited = (took: number, error: unknown, scope?: object): void => {
    const isWait = took >= SHORTEST_WAIT_MS || error !== undefined;
    const holders = isWait && pools.size < 2 ? store.holders(store.now() - took) : {};
    const facts = { took, ...holders, place: isWait ? store.current()?.asking : undefined };
    store.record(error === undefined ? 'connection' : 'no connection', facts, { scope, error });
  };
  return subscribeAll<Message & Finding>({
    'ambit:scope:opened': ({ scope }) => store.opened(scope),
    'ambit:scope:closed': ({ scope }) => store.closed(scope),
    'ambit:instance:created': ({ scope, key, milliseconds }) => store.created(scope, key, milliseconds, true),
    'ambit:transient:created': ({ scope, key, milliseconds }) => store.created(scope, key, milliseconds, false),
    'ambit:creation:failed': ({ scope, key, error }) => failures.add(scope, key, error),
    'ambit:instance:disposed': ({ scope, key, error }) =>
      store.knows(scope) && store.record('disposed', { key: label(key), place: Where.of(error) }, { scope, error }),
    'ambit:statement:sent': ({ statement }) => statement && statements.sent(statement),
    'ambit:statement:outside': (completed) => statements.completed(completed, undefined),
    'ambit:transaction:statement': (completed) => statements.completed(completed, completed.scope),
    'ambit:connection:acquired': ({ pool, milliseconds }) => {
      pools.add(pool);
      if (milliseconds >= SHORTEST_WAIT_MS) waited(milliseconds, undefined);
    },
    'ambit:connection:refused': ({ pool, milliseconds, error }) => {
      pools.add(pool);
      waited(milliseconds, error);
    },
    'ambit:handler:failed': ({ error }) => store.failed(error),
    // A pool of @ambit/transaction has reported the wait already.
    'ambit:transaction:refused': ({ parent, milliseconds, error }) => {
      if (!store.knows(parent)) return;
      store.refused(parent);
      if (pools.size === 0) waited(milliseconds, error, parent);
    },
    'ambit:transaction:acquired': ({ scope, milliseconds }) => {
      if (!store.knows(scope)) return;
      if (pools.size === 0 || milliseconds < SHORTEST_WAIT_MS) waited(milliseconds, undefined, scope);
      store.acquired(scope);
    },
    'ambit:transaction:begun': ({ scope, milliseconds }) => store.begun(scope, milliseconds),
    'ambit:transaction:finished': ({ scope, outcome, milliseconds, error }) =>
      store.finished(scope, outcome, milliseconds, error),
    'ambit:transaction:reported': ({ error }) => {
      const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
      if (code === 'AMBIT_TX_CALLBACK_FAILED')
        store.record('callback failed', { place: Where.of(cause) }, { error: cause });
    },
    'ambit:transaction:finding': (finding) => store.record('finding', factsOf(finding)),
    ...(lines && {
      'ambit:inspector:line': ({ source, level, text }: Message) =>
        store.record('line', { line: { source, level, text: text.slice(0, LONGEST_LINE) } }),
    }),
  });
}

/** The message of `transactionCheck()` of @ambit/transaction/check. */
interface Finding {
  readonly kind: string;
  readonly place?: { readonly file: string; readonly line: number };
}

function factsOf({ kind, place, key, sql }: Finding & Partial<Pick<Message, 'key' | 'sql'>>): Facts {
  return {
    found: kind,
    ...(place && { where: `${place.file}:${place.line}` }),
    ...(key !== undefined && { key: label(key) }),
    ...(sql !== undefined && { sql: withoutValues(sql) }),
  };
}

const LONGEST_SQL = 2000;
const MOST_TEXTS = 1000;

/** The text of a statement, on one line, without literals and comments. */
export function withoutValues(sql: string): string {
  const text = withoutLiterals(sql.slice(0, 4 * LONGEST_SQL), { text: "'…'", number: '?' })
    .replaceAll(/\s+/g, ' ')
    .trim();
  return text.length > LONGEST_SQL ? `${text.slice(0, LONGEST_SQL)}…` : text;
}

/** Each statement, where the code sent it, and how long it took. */
class Statements {
  readonly #store: Store;
  readonly #sent = new WeakMap<object, Awaited & { readonly request: RequestRecord | undefined }>();
  readonly #texts = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Called within the call that sends the statement. */
  sent(statement: object): void {
    const sent = { place: new Where(), started: this.#store.now(), request: this.#store.current() };
    this.#sent.set(statement, sent);
    this.#store.goesOn(sent.place);
    sent.request?.begins(sent);
  }

  completed({ sql, milliseconds, error, statement }: Message, scope: object | undefined): void {
    const sent = statement && this.#sent.get(statement);
    sent?.request?.ends(sent);
    // Its scope is closed: a statement that failed came too late.
    if (scope && !this.#store.knows(scope) && error === undefined) return;
    this.#store.statement(this.#textOf(sql), milliseconds, sent?.place, { scope, error });
  }

  /** Most statements are sent again and again: one string of each is kept. */
  #textOf(sql: string): string {
    const known = this.#texts.get(sql);
    if (known !== undefined) return known;
    const text = withoutValues(sql);
    const shared = this.#texts.get(text) ?? text;
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear();
    this.#texts.set(shared, shared);
    if (sql.length <= LONGEST_SQL) this.#texts.set(sql, shared);
    return shared;
  }
}

/** The services that could not be created: an error that passes several of them is one record. */
class Failures {
  readonly #store: Store;
  /** The error that was published last, and the keys that it has passed. */
  #last: { readonly error: unknown; readonly path: string[] } | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  add(scope: object, key: Key, error: unknown): void {
    if (!this.#store.knows(scope)) return;
    const name = label(key);
    const known = this.#last && this.#last.error === error ? this.#last.path : undefined;
    // A service may throw the same error object again.
    if (known && known.at(-1) !== name) {
      // The container's own errors have the whole path already.
      if (!known.includes(name)) known.unshift(name);
      return;
    }
    const path = error instanceof ContainerError && error.path.length > 0 ? error.path.map(label) : [name];
    this.#last = { error, path };
    this.#store.record('failed', { key: path.at(-1) ?? name, path, place: Where.of(error) }, { scope, error });
  }
}

interface CallMessage {
  readonly request: object & {
    /** Set by undici, and so by `fetch`. */
    readonly origin?: unknown;
    /** Set by `node:http`. */
    readonly host?: unknown;
    getHeader?(name: string): unknown;
    readonly method?: unknown;
    readonly agent?: { readonly maxSockets?: number };
    readonly socket?: object;
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
  const calls = new WeakMap<object, Call>();
  /** The lines that opened sockets, and when they were free again. */
  const opened = new WeakMap<object, Where>();
  const freed = new WeakMap<object, number>();
  const begin = ({ request }: CallMessage): void => {
    if (calls.has(request)) return;
    if (store.origin()?.over) store.goesOn(new Where());
    const owner = store.current();
    if (!owner) return;
    const call: Call = { owner, place: new Where(), host: hostOf(request), started: store.now(), queued: 0, status: 0 };
    calls.set(request, call);
    owner.begins(call);
  };
  /** It has a socket. Sockets of an Agent with few of them are waited for. */
  const start = (message: CallMessage): void => {
    const { agent: { maxSockets: sockets = Infinity } = {}, socket = {} } = message.request;
    const known = calls.get(message.request);
    begin(message);
    const call = calls.get(message.request);
    if (!call || sockets === Infinity) return;
    const now = store.now();
    if (call.place?.line === undefined) call.place = opened.get(socket);
    // Created long before, or as soon as the socket was free.
    const isNext = now - (freed.get(socket) ?? 0) < NEXT_MS;
    if (known || isNext) Object.assign(call, { sockets, queued: now - (known?.started ?? call.owner.idleSince) });
  };
  const headersOf = ({ request, response }: CallMessage): void => {
    const call = calls.get(request);
    if (call) call.status = response?.statusCode ?? 0;
  };
  const end = ({ request, error }: CallMessage): void => {
    const call = calls.get(request);
    if (!call) return;
    calls.delete(request);
    if (request.socket) freed.set(request.socket, store.now());
    const { owner, place, host, started, status, sockets, queued } = call;
    owner.ends(call);
    const facts = { took: store.now() - started, host, place, ...(status > 0 && { status }) };
    const more = { ...(typeof request.method === 'string' && { method: request.method }) };
    store.record('call', { ...facts, ...more, ...(sockets && { sockets, queued }) }, { of: owner, error });
  };
  return subscribeAll<CallMessage & { readonly socket: object }>({
    'undici:request:create': begin,
    'undici:request:headers': headersOf,
    'undici:request:trailers': end,
    'undici:request:error': end,
    'net.client.socket': ({ socket }) => store.current() && opened.set(socket, new Where()),
    'http.client.request.created': begin,
    'http.client.request.start': start,
    'http.client.response.finish': (message) => {
      headersOf(message);
      end(message);
    },
    'http.client.request.error': end,
  });
}

interface Call extends Awaited {
  readonly owner: RequestRecord;
  readonly host: string;
  place: Where | undefined;
  status: number;
  sockets?: number;
  queued: number;
}

/** The next call takes a socket in the turn in which it is free. */
const NEXT_MS = 20;

interface OutboxMessage {
  readonly table: string;
  readonly lag: number;
  readonly pending: number;
  readonly error?: unknown;
}

/** An event that waits for longer, although the relay runs, is trouble. */
const LONG_LAG_MS = 10_000;

/** Reports events of an outbox that are not delivered, and those that wait for long. The returned function stops that. */
export function outboxTroubles(store: Store): () => void {
  return subscribeAll<OutboxMessage>({
    'ambit:outbox:failed': ({ table, error: thrown }) => {
      const error = errorName(thrown);
      const cause = `A delivery of ${table} failed: ${error}`;
      store.noticed(signOf({ kind: 'outbox', cause, about: table, error, where: Where.of(thrown)?.line }));
    },
    'ambit:outbox:backlog': ({ table, lag, pending }) => {
      if (lag < LONG_LAG_MS) return;
      const cause = `The oldest of ${pending} events of ${table} has waited for ${Math.round(lag / 1000)} s: its deliveries fail, or the relay or the receiver is slow`;
      store.noticed(signOf({ kind: 'outbox', cause, about: `${table} waits` }));
    },
  });
}

/** The use of the application's connection pool; undefined where it has none that reports its size. */
export function poolOf(container: Container): PoolNow | undefined {
  try {
    if (container.disposed || !container.has('IDatabasePool')) return undefined;
    const { size } = container.resolve<{ readonly size?: PoolSize }>('IDatabasePool' as string);
    return size && { open: size.open, idle: size.idle, waiting: size.waiting, ...(size.max && { max: size.max }) };
  } catch {
    return undefined;
  }
}
