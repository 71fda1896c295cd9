import type { AppDescription, Call, Exception, Reply, Route } from '@ambit/testing/hosts';
import type { IContainer } from '@ambit/container';
import { createHandler, errorResponse, problemResponse, withTransaction } from '@ambit/fetch';
import { BODY_LIMIT, webStreamOf } from '@ambit/testing/tools';

/** A function of a `Request` cannot know or decide this, whatever its host. */
export const WITHOUT_A_SOCKET: readonly Exception[] = [
  {
    test: /is the request scope again in the error handler/,
    because: 'the server responds to the error, outside of the request',
  },
  { test: /pipeline/, because: 'requests on one connection are the business of the server' },
  { test: /followed by|garbage/, because: 'the server responds to what it cannot parse' },
  { test: /gets the refusal alone/, because: 'the server says when a client may send its body' },
  { test: /maxRequestsPerConnection|has sent .* bytes more|wait for their turn|waits its turn/, because: 'the same' },
  {
    test: /a middleware kept|in a middleware|disconnected before the host saw/,
    because: 'it is called at once with a request, and no middleware has the socket',
  },
  { test: /those of clients that have disconnected do not count/, because: 'its client pipelines' },
  {
    test: /because COMMIT fails takes back what was said/,
    because: 'an error has a Response of its own, so nothing is taken back',
  },
  {
    test: /a response that middlewares wrap|the listeners of the response/,
    because: 'it has no response of node:http',
  },
];

/** An application as a function of a request, and of what a host gives besides it. */
export interface FetchApp {
  fetch(request: Request, context?: object): Promise<Response>;
  /** Responds to what `fetch` rejects with. */
  respondToError(error: unknown): Response;
  /** Once nothing more comes: waits for the scopes, and disposes the container. */
  close(): Promise<void>;
}

export function fetchApp({
  container,
  routes,
  onDisposeError,
  ownErrorHandler = true,
  limits,
  onError,
  scopeOptions: { parent, ...scopeOptions } = {},
}: AppDescription): FetchApp {
  const respondToError = (error: unknown): Response => {
    if (!ownErrorHandler) return errorResponse(error);
    onError(error);
    return problemResponse(error);
  };
  const handler = createHandler(parent ?? container, (request, scope) => respond(routes, request, scope), {
    onDisposeError,
    ...scopeOptions,
    ...(limits?.maxRequests === undefined ? {} : { maxRequests: limits.maxRequests }),
    isEssential: (request) => limits?.isEssential?.({ url: pathOf(request) } as never) ?? false,
  });
  return {
    fetch: handler,
    respondToError,
    close: async () => {
      await handler.drain();
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
  const readBody = (): Promise<string> => request.text();
  if (!route.transaction)
    return handled(route, { scope, transactionScope: undefined as never, body, readBody, header });
  const transactional = withTransaction(
    (_request, transactionScope) => handled(route, { scope, transactionScope, body, readBody, header }),
    route.transaction,
  );
  return transactional(request, scope, undefined);
}

/** As a body parser does: nothing that is too large, and nothing that is no JSON. */
async function bodyOf(request: Request): Promise<unknown> {
  if (request.headers.get('content-type') === 'application/octet-stream') return undefined;
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
  given: Pick<Call, 'scope' | 'transactionScope' | 'body' | 'readBody' | 'header'>,
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
