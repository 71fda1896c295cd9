import { type Channel, channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Contexts, Frame } from './contexts.js';
import { type ClientRequest, HttpClientCheck, type UndiciRequest } from './http-client.js';
import { RequestUnit, type ServerRequest } from './request-unit.js';
import type { Rules } from './rules.js';

/** What Node, undici and Fastify publish. */
interface Message {
  readonly request: unknown;
  readonly socket: object;
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
  const handlers: Readonly<Record<string, (message: Message) => void>> = {
    'http.server.request.start': ({ request }) => contexts.enterRequest(new RequestUnit(request as ServerRequest)),
    'http.client.request.created': ({ request }) => client.created(request as ClientRequest),
    'http.client.request.start': ({ request }) => client.started(request as ClientRequest),
    'net.client.socket': ({ socket }) => client.connected(socket),
    'undici:request:create': ({ request }) => client.fetched(request as UndiciRequest),
  };
  const listeners = Object.entries(handlers).map(
    ([name, handle]) => [name, (message: unknown) => handle(message as Message)] as const,
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
