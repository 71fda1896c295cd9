import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import type { CallStack, EffectKind, TransactionCheckError } from './finding.js';
import type { Contexts, Rules } from './rules.js';

/** Subscribes to channels. The returned function ends that. */
export function subscribeTo<M>(handlers: Readonly<Record<string, (message: M) => void>>): () => void {
  const listeners = Object.entries(handlers) as [string, (message: unknown) => void][];
  for (const [name, listener] of listeners) subscribe(name, listener);
  return () => {
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  };
}

/** `{ on }`, when a method in `LOOKED_AT` is looked up in order to be called. */
const methodLookedUp = channel('ambit:transaction:method');

/**
 * Methods for whose calls Node has no channel: data that is sent on a socket, and, before Node 22.12, a request of `node:http` before it is
 * sent. It has none for HTTP/1 on a connection that is kept alive either. A function around them would stand in stacks and be another one
 * than Node's, so the look-up is observed: the method that is called is Node's own, called by its caller.
 */
const LOOKED_AT: readonly (readonly [prototype: object, name: string])[] = [
  [Socket.prototype, 'write'],
  [ClientRequest.prototype, 'write'],
  [ClientRequest.prototype, 'end'],
  [ClientRequest.prototype, 'flushHeaders'],
];

/** Observes them as long as anybody subscribes, from any copy of this module. */
function observeMethods(listener: (message: { readonly on: object }) => void): () => void {
  if (!methodLookedUp.hasSubscribers) for (const [prototype, name] of LOOKED_AT) observe(prototype, name);
  const stop = subscribeTo({ [String(methodLookedUp.name)]: listener });
  return () => {
    stop();
    if (!methodLookedUp.hasSubscribers) for (const [prototype, name] of LOOKED_AT) restore(prototype, name);
  };
}

function observe(prototype: object, name: string): void {
  let method: unknown = Reflect.get(prototype, name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: object) {
      if (this !== prototype) methodLookedUp.publish({ on: this });
      return method;
    },
    set(this: object, value: unknown) {
      if (this === prototype) method = value;
      else Object.defineProperty(this, name, { value, configurable: true, enumerable: true, writable: true });
    },
  });
}

/** The methods are inherited, unless another tool has put its own there. */
function restore(prototype: object, name: string): void {
  const method: unknown = Reflect.get(prototype, name);
  Reflect.deleteProperty(prototype, name);
  if (Reflect.get(prototype, name) === method) return;
  Object.defineProperty(prototype, name, { value: method, configurable: true, enumerable: false, writable: true });
}

/** A request of `fetch()` and of undici has an origin; the others are of `node:http`. */
interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly origin?: unknown;
}

function targetOf(request: ClientRequest | SentRequest): string {
  const { method, path } = request;
  const origin =
    request instanceof ClientRequest
      ? `${request.protocol}//${String(request.getHeader('host') ?? request.host)}`
      : String(request.origin);
  // The query may hold secrets.
  return `${method} ${origin}${path.replace(/[?#][^]*/, '')}`;
}

/** The effects by the names that Node's `async_hooks` have for an asynchronous call that begins. */
const BEGINNING: Readonly<Record<string, EffectKind>> = {
  HTTP2STREAM: 'http-request',
  PROCESSWRAP: 'child-process',
  FSREQCALLBACK: 'file-write',
  FSREQPROMISE: 'file-write',
};

/** An asynchronous call begins in an open transaction. */
export function effectBegins(rules: Rules, type: string, stack: CallStack): void {
  const kind = BEGINNING[type];
  const file = kind === 'file-write' ? stack.fileFunction : undefined;
  if (kind === 'file-write' ? file !== undefined : kind !== undefined)
    rules.hasReached(kind as EffectKind, file ? `fs.${file}` : type === 'HTTP2STREAM' ? 'HTTP/2' : undefined);
}

/** Node publishes a socket that a server has accepted, and requests; undici the socket of a request before it writes there. */
interface Message {
  readonly request: ClientRequest | SentRequest;
  readonly socket: Socket;
  readonly on: object;
}

/** Follows what the code of an open transaction sends over sockets. The returned function stops that. */
export function followSockets(contexts: Contexts, rules: Rules): () => void {
  /** Connections of checked pools and of servers, and those on which requests are sent that were found themselves. */
  const exempt = new WeakSet<object>();
  const isExempt = (socket: Socket): boolean =>
    // Standard output has no remote address, and neither has the input of a child process, which was found when it was started.
    exempt.has(socket) || (!socket.connecting && socket.remoteAddress === undefined);
  const wrote = (socket: Socket): void => {
    const { watched, current } = contexts;
    if (current?.isDriver) exempt.add(socket);
    if (!watched || isExempt(socket) || watched.requests.some((request) => request.socket === socket)) return;
    const { remoteAddress, remotePort } = socket;
    rules.hasReached('connection-write', remoteAddress && `${remoteAddress}:${remotePort}`);
  };
  const requested = (request: ClientRequest): void => {
    const { watched } = contexts;
    if (!watched || watched.requests.includes(request)) return;
    watched.requests.push(request);
    const refusal: TransactionCheckError | undefined = rules.reached('http-request', targetOf(request));
    if (refusal) request.destroy(refusal);
  };
  const stops = [
    observeMethods(({ on }) => {
      if (on instanceof Socket) wrote(on);
      else if (on instanceof ClientRequest) requested(on);
    }),
    subscribeTo<Message>({
      'net.server.socket': ({ socket }) => void exempt.add(socket),
      'http.server.request.start': ({ socket }) => void exempt.add(socket),
      // Since Node 22.12: by the call itself, before anything is sent.
      'http.client.request.created': ({ request }) => requested(request as ClientRequest),
      'undici:client:sendHeaders': ({ socket }) => void exempt.add(socket),
      // The request is found by the call of `fetch()`, which nobody but its caller can cancel.
      'undici:request:create': ({ request }) => contexts.watched && rules.hasReached('http-request', targetOf(request)),
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
