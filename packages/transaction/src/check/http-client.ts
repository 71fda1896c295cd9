import { type Channel, channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CallStack, type TransactionCheckError } from './finding.js';
import { type Contexts, type Frame, RequestUnit, type Rules, type ServerRequest } from './rules.js';

/** A request of `node:http`. */
interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly protocol: string;
  readonly host: string;
  readonly socket: object | null;
  getHeader(name: 'host'): string | undefined;
  destroy(error: Error): unknown;
}

/** A request of `fetch()`, and of undici. */
interface UndiciRequest {
  readonly method: string;
  readonly origin: unknown;
  readonly path: string;
}

function targetOf(request: ClientRequest): string {
  const { method, protocol, host, path } = request;
  return `${method} ${protocol}//${request.getHeader('host') ?? host}${withoutQuery(path)}`;
}

/** It may hold secrets. */
function withoutQuery(path: string): string {
  return path.replace(/[?#][^]*/, '');
}

/** Node and undici publish a request; a transaction when it has its connection, and a host when it knows its response. */
interface Message {
  readonly request: ClientRequest & UndiciRequest & ServerRequest;
  readonly socket: object;
  readonly parent: object;
  readonly scope: object;
  readonly status: number;
}

interface FastifyMessage {
  readonly request: { readonly raw: ServerRequest };
  readonly route: { readonly url: string };
}

/** Fastify runs its handlers in the stores of this channel. The channel is kept only as long as somebody refers to it. */
const fastifyHandler: Channel = channel('tracing:fastify.request.handler:start');

/** Follows the HTTP requests that this process receives and sends. The returned function stops that. */
export function followHttp(contexts: Contexts, rules: Rules): () => void {
  const known = new WeakSet<ClientRequest>();
  /** The code that has opened it. */
  const sockets = new WeakMap<object, CallStack>();
  const refuse = (request: ClientRequest, refusal: TransactionCheckError | undefined): void => {
    if (refusal) request.destroy(refusal);
  };
  contexts.bind<FastifyMessage>(fastifyHandler, (message) => handlerFrame(contexts.current, message));
  const handlers: Readonly<Record<string, (message: Message) => void>> = {
    'ambit:transaction:acquired': ({ parent }) => rules.acquiredIn(parent),
    'ambit:transaction:response': ({ scope, status }) => rules.responded(scope, status),
    'http.server.request.start': ({ request }) => contexts.enterRequest(new RequestUnit(request)),
    // Since Node 22.12: by the call itself, before anything is sent.
    'http.client.request.created': ({ request }) => {
      known.add(request);
      refuse(request, rules.httpRequest(targetOf(request)));
    },
    // Node 20 publishes a request when it is written, and by then only the connection that was opened for it knows the call.
    'net.client.socket': ({ socket }) => {
      if (rules.isInTransaction) sockets.set(socket, new CallStack());
    },
    'http.client.request.start': ({ request }) => {
      if (known.has(request)) return;
      const opened = request.socket ? sockets.get(request.socket) : undefined;
      if (request.socket) sockets.delete(request.socket);
      // On a connection that was kept alive it has been sent already.
      refuse(request, rules.sentHttpRequest(targetOf(request), opened));
    },
    // By the call of `fetch()`, which nobody but its caller can cancel.
    'undici:request:create': ({ request: { method, origin, path } }) =>
      void rules.sentHttpRequest(`${method} ${String(origin)}${withoutQuery(path)}`),
  };
  const listeners = Object.entries(handlers) as [string, (message: unknown) => void][];
  for (const [name, listener] of listeners) subscribe(name, listener);
  return () => {
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  };
}

/** The route as declared. A request that is injected, and comes over no socket, is a unit of its own here. */
function handlerFrame(current: Frame | undefined, { request: { raw }, route }: FastifyMessage): Frame {
  const request = current?.request?.isOf(raw) ? current.request : new RequestUnit(raw);
  request.declared = route.url;
  return { isUnchecked: current?.isUnchecked, outer: current, request };
}
