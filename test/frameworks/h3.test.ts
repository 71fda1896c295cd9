import type { IContainer } from '@ambit/container';
import { errorResponse } from '@ambit/fetch';
import { problemOf } from '@ambit/http';
import { type AppDescription, type Call, type Host, hostContract, type Reply, type Route } from '@ambit/testing/hosts';
import { BODY_LIMIT, webStreamOf } from '@ambit/testing/tools';
import { H3, type H3Event, serve } from 'h3';
import { scopes, transaction } from './h3-host.js';

const OF_THE_SERVER = 'srvx has the connections, and says nothing of them';

/** The adapter of README.md of @ambit/testing. */
const h3Host: Host = {
  name: 'h3',
  exceptions: [
    { test: /pipeline|followed by|garbage|gets the refusal alone|maxRequestsPerConnection/, because: OF_THE_SERVER },
    { test: /has sent .* bytes more|wait for their turn|waits its turn|do not count/, because: OF_THE_SERVER },
    { test: /a middleware kept|in a middleware|disconnected before the host saw|says HTTP\/2/, because: OF_THE_SERVER },
    { test: /closing > (does not wait|responds|waits)|a server that closes/, because: OF_THE_SERVER },
    {
      test: /a response that middlewares wrap|the listeners of the response/,
      because: 'it has no response of node:http',
    },
    { test: /because COMMIT fails takes back what was said/, because: 'an error has a Response of its own' },
    { test: /is the request scope again in the error handler/, because: 'h3 calls onError outside of middlewares' },
  ],
  start,
};

async function start(description: AppDescription): Promise<{ port: number; close(): Promise<void> }> {
  const { container, routes, onDisposeError, onError, ownErrorHandler = true, limits, scopeOptions = {} } = description;
  const { parent, ...options } = scopeOptions;
  const { middleware, drain } = scopes(parent ?? container, {
    onDisposeError,
    ...options,
    ...(limits?.maxRequests === undefined ? {} : { maxRequests: limits.maxRequests }),
    isEssential: (event) => limits?.isEssential?.({ url: event.url.pathname } as never) ?? false,
  });
  const app = new H3({
    silent: true,
    onError: (error) => {
      const reason = error.unhandled ? error.cause : error;
      if (!ownErrorHandler) return errorResponse(reason);
      onError(reason);
      const { status, headers, body } = problemOf(reason);
      const text = JSON.stringify(body);
      return new Response(text, { status, headers: { ...headers, 'content-length': String(text.length) } });
    },
  });
  app.use(middleware);
  for (const route of routes) {
    const middlewares = route.transaction ? [parseBody, transaction(route.transaction)] : [parseBody];
    for (const method of [route.method, 'HEAD'] as const)
      app.on(method, route.path, (event) => handled(route, event), { middleware: middlewares });
  }
  app.all('/**', () => json({ error: 'Not found' }, { status: 404 }));
  const server = serve(app, { port: 0, hostname: '127.0.0.1', silent: true, gracefulShutdown: false });
  await server.ready();
  return {
    port: Number(new URL(String(server.url)).port),
    close: async () => {
      await Promise.all([server.close(), drain()]);
      await container.dispose();
    },
  };
}

/** Before the transaction: a bad body costs no connection. */
async function parseBody(event: H3Event): Promise<void> {
  if (event.req.headers.get('content-type') === 'application/octet-stream') return;
  const text = await event.req.text();
  if (text.length > BODY_LIMIT) throw Object.assign(new Error('too large'), { statusCode: 413 });
  try {
    event.context['body'] = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw Object.assign(new Error('no JSON'), { statusCode: 400 });
  }
}

function handled(route: Route, event: H3Event): Promise<Response> {
  const headers = new Headers();
  return new Promise((resolve, reject) => {
    const call: Call = {
      scope: event.context['container'] as IContainer,
      transactionScope: event.context['transactionScope'] as IContainer,
      body: event.context['body'],
      readBody: () => event.req.text(),
      header: (name) => event.req.headers.get(name),
      setHeaders: (more) => Object.entries(more).forEach(([name, value]) => headers.set(name, value)),
      respond: async (reply) => resolve(responseOf(reply, headers)),
      fail: reject,
    };
    (async () => route.handle(call))()
      .then((reply) => reply && resolve(responseOf(reply, headers)))
      .catch(reject);
  });
}

/** With a length: h3 would send it in chunks. */
function json(body: unknown, { status, headers = new Headers() }: { status: number; headers?: Headers }): Response {
  const text = JSON.stringify(body);
  headers.set('content-type', 'application/json; charset=utf-8');
  headers.set('content-length', String(Buffer.byteLength(text)));
  return new Response(text, { status, headers });
}

function responseOf(reply: Reply, headers: Headers): Response {
  if (reply.kind === 'json') return json(reply.body, { status: reply.status ?? 200, headers });
  if (reply.kind === 'status') return new Response(null, { status: reply.status, headers });
  if (reply.kind === 'redirect') return new Response(null, { status: 302, headers: { location: reply.to } });
  return new Response(reply.kind === 'stream' ? webStreamOf(reply.stream) : reply.text, { headers });
}

hostContract(h3Host);
