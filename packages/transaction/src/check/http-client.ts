import { type Channel, channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CallStack } from './finding.js';
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

/** Checks the requests that this process sends, as Node and undici publish them. */
class HttpClientCheck {
  readonly #rules: Rules;
  readonly #known = new WeakSet<ClientRequest>();
  /** Who has opened it. */
  readonly #sockets = new WeakMap<object, CallStack>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Since Node 22.12: by the call itself, before anything is sent. */
  created(request: ClientRequest): void {
    this.#known.add(request);
    const found = this.#rules.httpRequest(targetOf(request));
    if (found) request.destroy(found.refusal);
  }

  /** Node 20 publishes a request when it is written, and by then only the connection that was opened for it knows the call. */
  connected(socket: object): void {
    if (this.#rules.isInTransaction) this.#sockets.set(socket, new CallStack());
  }

  started(request: ClientRequest): void {
    if (this.#known.has(request)) return;
    const opened = request.socket ? this.#sockets.get(request.socket) : undefined;
    if (request.socket) this.#sockets.delete(request.socket);
    const found = this.#rules.httpRequest(targetOf(request), opened);
    if (!found) return;
    // On a connection that was kept alive it has been sent already.
    found.hold.failures.push(found.refusal);
    request.destroy(found.refusal);
  }

  /** By the call of `fetch()`, which nobody but its caller can cancel. */
  fetched({ method, origin, path }: UndiciRequest): void {
    const found = this.#rules.httpRequest(`${method} ${String(origin)}${withoutQuery(path)}`);
    found?.hold.failures.push(found.refusal);
  }
}

function targetOf(request: ClientRequest): string {
  const { method, protocol, host, path } = request;
  return `${method} ${protocol}//${request.getHeader('host') ?? host}${withoutQuery(path)}`;
}

/** It may hold secrets. */
function withoutQuery(path: string): string {
  return path.replace(/[?#][^]*/, '');
}

/** The messages that Node and undici publish. */
interface Message {
  readonly request: unknown;
  readonly socket: object;
}

/** The message that a transaction publishes when it has its connection, and a host when it knows its response. */
interface TransactionMessage {
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
  const client = new HttpClientCheck(rules);
  contexts.bind<FastifyMessage>(fastifyHandler, (message) => handlerFrame(contexts.current, message));
  const handlers: Readonly<Record<string, (message: Message & TransactionMessage) => void>> = {
    'ambit:transaction:acquired': ({ parent }) => rules.acquiredIn(parent),
    'ambit:transaction:response': ({ scope, status }) => rules.responded(scope, status),
    'http.server.request.start': ({ request }) => contexts.enterRequest(new RequestUnit(request as ServerRequest)),
    'http.client.request.created': ({ request }) => client.created(request as ClientRequest),
    'http.client.request.start': ({ request }) => client.started(request as ClientRequest),
    'net.client.socket': ({ socket }) => client.connected(socket),
    'undici:request:create': ({ request }) => client.fetched(request as UndiciRequest),
  };
  const listeners = Object.entries(handlers).map(
    ([name, handle]) => [name, (message: unknown) => handle(message as Message & TransactionMessage)] as const,
  );
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
