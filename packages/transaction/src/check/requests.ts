import { type Channel, channel } from 'node:diagnostics_channel';
import { requestContext, type ServedRequest } from '../events.js';
import { subscribeTo } from './effects.js';
import type { Recorder } from './recorder.js';
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
export function followRequests(contexts: Contexts, rules: Rules, recorder: Recorder | undefined): () => void {
  contexts.bind<ServedRequest>(requestContext, (served) => servedFrame(contexts.current, served));
  const units = new WeakMap<object, RequestUnit>();
  contexts.bind<FastifyMessage>(fastifyHandler, (message) => handlerFrame(contexts.current, message));
  return subscribeTo<Message>({
    'ambit:transaction:acquired': ({ parent }) => rules.acquiredIn(parent),
    'ambit:transaction:response': ({ scope, status }) => rules.responded(scope, status),
    'http.server.request.start': ({ request }) => {
      const unit = new RequestUnit(request, false);
      if (recorder) units.set(request, unit);
      contexts.enterRequest(unit);
    },
    'http.server.response.finish': ({ request }) => {
      const unit = units.get(request);
      if (!unit) return;
      unit.isOver = true;
      recorder?.finished(unit);
    },
  });
}

/** Over a socket there is a unit already. */
function servedFrame(current: Frame | undefined, { method, url, route }: ServedRequest): Frame {
  const request = current?.request ?? new RequestUnit({ method, url: url.replace(/^\w+:\/\/[^/]*/, '') }, true);
  request.declared ??= route;
  return { isUnchecked: current?.isUnchecked, outer: current, request };
}

/** The route as declared. A request that is injected, and comes over no socket, is a unit of its own here. */
function handlerFrame(current: Frame | undefined, { request: { raw }, route }: FastifyMessage): Frame {
  const request = current?.request?.isOf(raw) ? current.request : new RequestUnit(raw, true);
  request.declared = route.url;
  return { isUnchecked: current?.isUnchecked, outer: current, request };
}
