import { serve } from '@hono/node-server';
import type { AppDescription, Call, Exception, Host, Reply, Route, RunningHost } from '@ambit/testing/hosts';
import type { IContainer } from '@ambit/container';
import { createHandler, errorResponse, withTransaction } from '@ambit/fetch';
import { BODY_LIMIT, replyTo, webStreamOf } from '@ambit/testing/tools';

type Fetch = (request: Request) => Promise<Response>;

interface FetchServer {
  readonly port: number;
  /** Takes no more connections, and resolves when every response has been sent. */
  stop(): Promise<void>;
}

/** The parts of the runtimes that these tests use; no package of ours knows them. */
interface Runtimes {
  readonly Bun?: {
    serve(options: {
      port: number;
      hostname: string;
      idleTimeout: number;
      fetch: Fetch;
      error: (error: unknown) => Response;
    }): {
      readonly port: number;
      stop(): Promise<void>;
    };
  };
  readonly Deno?: {
    serve(
      options: { port: number; hostname: string; onListen: () => void; onError: (error: unknown) => Response },
      fetch: Fetch,
    ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

const { Bun, Deno } = globalThis as unknown as Runtimes;

/** Which of them runs these tests. */
export const runtime = Bun ? 'Bun' : Deno ? 'Deno' : 'Node';

const hostname = '127.0.0.1';

/** Serves on what the runtime itself offers, and on Node on the server of Hono. */
function serveFetch(fetch: Fetch, onError: (error: unknown) => Response): Promise<FetchServer> {
  if (Bun) {
    const server = Bun.serve({ port: 0, hostname, idleTimeout: 0, fetch, error: onError });
    return Promise.resolve({ port: server.port, stop: () => server.stop() });
  }
  if (Deno) {
    const server = Deno.serve({ port: 0, hostname, onListen: () => undefined, onError }, fetch);
    return Promise.resolve({ port: server.addr.port, stop: () => server.shutdown() });
  }
  return new Promise((resolve) => {
    const server = serve({ port: 0, hostname, fetch: (request) => fetch(request).catch(onError) }, (info) =>
      resolve({ port: info.port, stop }),
    );
    const stop = (): Promise<void> => new Promise((stopped) => void server.close(() => stopped()));
  });
}

/** A function of a `Request` cannot know or decide this, whatever its host. */
const WITHOUT_A_SOCKET: readonly Exception[] = [
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

const HTTP_2_ON_HTTP_1: Exception = {
  test: /says HTTP\/2 on a connection/,
  because: 'the server refuses such a request',
};

/** Servers differ in the requests that they refuse, and in how they close. */
const OF_THE_SERVER: Readonly<Record<typeof runtime, readonly Exception[]>> = {
  Node: [
    {
      test: /closing > (does not wait|responds|asks|waits)|a server that closes/,
      because: 'Node leaves connections open; drain() of @ambit/http closes them, as in @ambit/hono',
    },
  ],
  Bun: [
    HTTP_2_ON_HTTP_1,
    {
      test: /closing > (does not wait for idle clients|waits a second)/,
      because: 'Bun waits for them until its idleTimeout',
    },
    {
      test: /closing > (responds to what has begun|asks a client to disconnect)|a server that closes/,
      because: 'the same',
    },
  ],
  Deno: [
    HTTP_2_ON_HTTP_1,
    {
      test: /closing > (responds to what has begun|asks a client to disconnect)|a server that closes/,
      because: 'Deno closes connections without saying so in a header',
    },
  ],
};

const fetchExceptions: readonly Exception[] = [...WITHOUT_A_SOCKET, ...OF_THE_SERVER[runtime]];

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
