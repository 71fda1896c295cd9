import { type Channel, channel } from 'node:diagnostics_channel';
import { subscribeTo } from './effects.js';
import { type Contexts, type Frame, RequestUnit, type Rules, type ServerRequest } from './rules.js';

/** Node publishes a request; a transaction when it has its connection, and a host when it knows its response. */
interface Message {
  readonly request: ServerRequest;
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

/** Follows the HTTP requests that this process receives. The returned function stops that. */
export function followRequests(contexts: Contexts, rules: Rules): () => void {
  contexts.bind<FastifyMessage>(fastifyHandler, (message) => handlerFrame(contexts.current, message));
  return subscribeTo<Message>({
    'ambit:transaction:acquired': ({ parent }) => rules.acquiredIn(parent),
    'ambit:transaction:response': ({ scope, status }) => rules.responded(scope, status),
    'http.server.request.start': ({ request }) => contexts.enterRequest(new RequestUnit(request)),
  });
}

/** The route as declared. A request that is injected, and comes over no socket, is a unit of its own here. */
function handlerFrame(current: Frame | undefined, { request: { raw }, route }: FastifyMessage): Frame {
  const request = current?.request?.isOf(raw) ? current.request : new RequestUnit(raw);
  request.declared = route.url;
  return { isUnchecked: current?.isUnchecked, outer: current, request };
}
