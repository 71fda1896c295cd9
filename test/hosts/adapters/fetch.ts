import type { IContainer } from '@ambit/container';
import { createHandler, errorResponse, withTransaction } from '@ambit/fetch';
import { fetchExceptions } from './fetch-exceptions.js';
import { runtime, serveFetch } from '../support/serve-fetch.js';
import type { AppDescription, Call, Host, Reply, Route, RunningHost } from '@ambit/testing/hosts';
import { BODY_LIMIT, replyTo, webStreamOf } from '@ambit/testing/tools';

/** `createHandler()` of @ambit/fetch, on the server of whichever runtime runs the tests. */
export const fetchHost: Host = { name: `fetch on ${runtime}`, exceptions: fetchExceptions, start };

async function start({
  container,
  routes,
  onDisposeError,
  ownErrorHandler = true,
  limits,
  onError,
  scopeOptions: { parent, ...scopeOptions } = {},
}: AppDescription): Promise<RunningHost> {
  const respondToError = (error: unknown): Response => {
    if (!ownErrorHandler) return errorResponse(error);
    onError(error);
    const { status, body } = replyTo(error);
    return Response.json(body, { status, headers: status === 503 ? { 'retry-after': '1' } : {} });
  };
  const handler = createHandler(parent ?? container, (request, scope) => respond(routes, request, scope), {
    onDisposeError,
    ...scopeOptions,
    ...(limits?.maxRequests === undefined ? {} : { maxRequests: limits.maxRequests }),
    isEssential: (request) => limits?.isEssential?.({ url: pathOf(request) } as never) ?? false,
  });
  const server = await serveFetch(handler, respondToError);
  return {
    port: server.port,
    close: async () => {
      await Promise.all([server.stop(), handler.drain()]);
      await container.dispose();
    },
  };
}

function pathOf({ url }: Request): string {
  return new URL(url).pathname;
}

async function respond(routes: readonly Route[], request: Request, scope: IContainer): Promise<Response> {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = routes.find((known) => known.method === method && known.path === pathOf(request));
  const body = await bodyOf(request);
  if (!route) return Response.json({ error: 'Not found' }, { status: 404 });
  const header = (name: string): string | null => request.headers.get(name);
  if (!route.transaction) return handled(route, { scope, transactionScope: undefined as never, body, header });
  const transactional = withTransaction(
    (_request, transactionScope) => handled(route, { scope, transactionScope, body, header }),
    route.transaction,
  );
  return transactional(request, scope, undefined);
}

/** As a body parser does: nothing that is too large, and nothing that is no JSON. */
async function bodyOf(request: Request): Promise<unknown> {
  const text = await request.text();
  if (text === '') return undefined;
  if (text.length > BODY_LIMIT) throw Object.assign(new Error('too large'), { statusCode: 413 });
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw Object.assign(new Error('no JSON'), { statusCode: 400 });
  }
}

/** A handler may respond, or fail, before it returns: as with a promise, only the first of these counts. */
function handled(
  { handle }: Route,
  given: Pick<Call, 'scope' | 'transactionScope' | 'body' | 'header'>,
): Promise<Response> {
  const headers = new Headers();
  return new Promise((resolve, reject) => {
    const call: Call = {
      ...given,
      setHeaders: (more) => Object.entries(more).forEach(([name, value]) => headers.set(name, value)),
      respond: async (reply) => resolve(responseOf(reply, headers)),
      fail: reject,
    };
    (async () => handle(call))()
      .then((reply) => reply && resolve(responseOf(reply, headers)))
      .catch(reject);
  });
}

function responseOf(reply: Reply, headers: Headers): Response {
  if (reply.kind === 'json') return Response.json(reply.body, { status: reply.status ?? 200, headers });
  if (reply.kind === 'status') return new Response(null, { status: reply.status, headers });
  if (reply.kind === 'redirect') return new Response(null, { status: 302, headers: { location: reply.to } });
  const body = reply.kind === 'stream' ? webStreamOf(reply.stream) : reply.text;
  return new Response(body, { headers });
}
