import { containerMiddleware, problemOf, withTransaction } from '@ambit/hono';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import type { AppDescription, Call, Exception, Reply, Route } from '@ambit/testing/hosts';
import { BODY_LIMIT, webStreamOf } from '@ambit/testing/tools';

/** Hono decides these, on every runtime. */
export const OF_HONO: readonly Exception[] = [
  {
    test: /is the request scope again in the error handler/,
    because: 'Hono calls onError() inside the middleware, so the scope is still that of the transaction',
  },
  { test: /with HEAD disposes its scope/, because: 'Hono responds to HEAD without a Content-Length' },
  {
    test: /disconnected before the host saw its request/,
    because: 'the request fails with AMBIT_HTTP_CLIENT_DISCONNECTED, and its handler does not run',
  },
  { test: /without an error handler of the application/, because: 'the one of Hono names no code' },
  {
    test: /the listeners of the response/,
    because: 'the scope is disposed with the Response of the handler, before the one of node:http is sent',
  },
  {
    test: /reaches no error handler/,
    because: 'Hono calls onError() with what a handler throws, before any middleware sees it',
  },
  {
    test: /the handler learns it at its next statement/,
    because: 'Hono calls onError() for the time limit, and again for what the handler throws afterwards',
  },
];

/** An application, and what ends it once nothing more comes. */
export function honoApp({
  container,
  routes,
  onDisposeError,
  ownErrorHandler = true,
  limits = {},
  before,
  onError,
  scopeOptions: { parent, ...scopeOptions } = {},
}: AppDescription): { app: Hono<{ Bindings: HttpBindings }>; close(): Promise<void> } {
  const { isEssential, ...counts } = limits;
  const app = new Hono<{ Bindings: HttpBindings }>();
  if (before) {
    app.use(async (c, next) => {
      await new Promise<void>((resolve, reject) => {
        // In the asynchronous context in which `before` goes on.
        const goOn = (): void => void next().then(resolve, reject);
        void before(c.env.incoming, goOn);
      });
    });
  }
  const scopes = containerMiddleware(parent ?? container, {
    ...scopeOptions,
    onDisposeError,
    ...counts,
    isEssential: ({ req }) => isEssential?.({ url: req.path } as never) ?? false,
  });
  app.use(scopes);
  if (ownErrorHandler) {
    app.onError((error, c) => {
      onError(error);
      const { status, headers, body } = problemOf(error);
      return c.json(body, status as 500, headers);
    });
  }
  app.notFound((c) => c.json({ error: 'Not found' }, 404));
  app.use(parseBody);
  for (const route of routes) {
    const transaction = route.transaction ? [withTransaction(route.transaction)] : [];
    app.on([route.method], [route.path], ...transaction, (c: Context) => handled(route, c));
  }
  const close = async () => {
    await scopes.drain();
    await container.dispose();
  };
  return { app, close };
}

declare module 'hono' {
  interface ContextVariableMap {
    body: unknown;
  }
}

/** As a body parser does: nothing that is too large, and nothing that is no JSON. */
const parseBody: MiddlewareHandler = async (c, next) => {
  if (c.req.header('content-type') === 'application/octet-stream') return next();
  const text = await c.req.text();
  if (text.length > BODY_LIMIT) throw Object.assign(new Error('too large'), { statusCode: 413 });
  try {
    c.set('body', text === '' ? undefined : JSON.parse(text));
  } catch {
    throw Object.assign(new Error('no JSON'), { statusCode: 400 });
  }
  await next();
};

/** A handler may respond, or fail, before it returns: as with a promise, only the first of these counts. */
function handled({ handle, wrap }: Route, c: Context<{ Bindings: HttpBindings }>): Promise<Response> {
  wrap?.before?.(c.env.outgoing);
  wrap?.behind?.(c.env.outgoing);
  return new Promise((resolve, reject) => {
    const call: Call = {
      scope: c.get('container'),
      get transactionScope() {
        return c.get('transactionScope')!;
      },
      body: c.get('body'),
      readBody: () => c.req.text(),
      header: (name) => c.req.header(name),
      setHeaders: (headers) => Object.entries(headers).forEach(([name, value]) => c.header(name, value)),
      respond: async (reply) => resolve(responseOf(c, reply)),
      fail: reject,
    };
    (async () => handle(call))()
      .then((reply) => reply && resolve(responseOf(c, reply)))
      .catch(reject);
  });
}

function responseOf(c: Context, reply: Reply): Response {
  if (reply.kind === 'json') return c.json(reply.body as object, (reply.status ?? 200) as 200);
  if (reply.kind === 'status') return c.body(null, reply.status as 204);
  if (reply.kind === 'redirect') return c.redirect(reply.to);
  if (reply.kind !== 'stream') return c.text(reply.text);
  return c.body(webStreamOf(reply.stream));
}
