/** The servers by name. Each loads what it needs when it starts, on the runtime that it is for. */
import { once } from 'node:events';
import { Context, inTransaction, Orders, Products } from './service.mjs';

/**
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} package its name in the registry, for the version in the report
 * @property {'bun' | 'deno'} [runtime] in place of Node
 * @property {(pool: any) => Promise<{ port: number, open?: () => number }>} start `open` counts scopes
 */

/** @type {Record<string, Contestant>} */
export const contestants = {
  'express-4-ambit': expressOn('ambit, Express 4', 'express-4'),
  'express-ambit': expressOn('ambit, Express 5', 'express'),
  'fastify-ambit': { title: 'ambit, Fastify', package: '@ambit/fastify', start: startFastify },
  'fetch-ambit': { title: 'ambit, fetch handler on Node', package: '@ambit/fetch', start: startFetch },
  'fetch-bun-ambit': {
    title: 'ambit, fetch handler on Bun',
    package: '@ambit/fetch',
    runtime: 'bun',
    start: startFetch,
  },
  'fetch-deno-ambit': {
    title: 'ambit, fetch handler on Deno',
    package: '@ambit/fetch',
    runtime: 'deno',
    start: startFetch,
  },
  'hono-ambit': { title: 'ambit, Hono', package: '@ambit/hono', start: startHono },
  'node-ambit': { title: 'ambit, node:http', package: '@ambit/http', start: startNode },
  'express-awilix': { title: 'awilix-express', package: 'awilix-express', start: startAwilixOnExpress },
  'fastify-awilix': { title: '@fastify/awilix', package: '@fastify/awilix', start: startAwilixOnFastify },
};

/** On either major version: Express 4 sees only those promises reject that `withDeps()` returns. */
function expressOn(title, name) {
  const start = async (pool) => {
    const { containerMiddleware, requireTransactionScope, resolve, withDeps, withTransaction } =
      await import('@ambit/express');
    const { default: express } = await import(name);
    const { container, open } = await ambitContainer(pool);
    const app = express();
    app.use(containerMiddleware(container));
    app.use((req, res, next) => {
      resolve(req, 'IContext');
      next();
    });
    app.use(express.json());
    app.get(
      '/products',
      withDeps({ products: 'IProducts' }, async (req, res, { products }) => {
        res.json(await products.list());
      }),
    );
    app.post(
      '/orders',
      withTransaction(),
      withDeps({}, async (req, res) => {
        res.status(201).json(await requireTransactionScope(req).resolve('IOrders').create(req.body));
      }),
    );
    return { port: await listenOnExpress(app), open };
  };
  return { title, package: '@ambit/express', start };
}

async function startFastify(pool) {
  const { containerPlugin, transactionPlugin } = await import('@ambit/fastify');
  const { default: fastify } = await import('fastify');
  const { container, open } = await ambitContainer(pool);
  const server = fastify();
  await server.register(containerPlugin, { container });
  await server.register(transactionPlugin);
  server.addHook('onRequest', async (request) => {
    request.container.resolve('IContext');
  });
  server.get('/products', (request) => request.container.resolve('IProducts').list());
  server.post('/orders', async (request, reply) => {
    const scope = await request.startTransaction();
    const order = await scope.resolve('IOrders').create(request.body);
    await request.commitTransaction();
    reply.code(201);
    return order;
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { port: server.server.address().port, open };
}

async function startFetch(pool) {
  const { createHandler, withTransaction } = await import('@ambit/fetch');
  const { container, open } = await ambitContainer(pool);
  const placeOrder = withTransaction(async (request, scope) =>
    Response.json(await scope.resolve('IOrders').create(await request.json()), { status: 201 }),
  );
  const handler = createHandler(
    container,
    async (request, scope, context) => {
      scope.resolve('IContext');
      if (request.method === 'POST') return placeOrder(request, scope, context);
      return Response.json(await scope.resolve('IProducts').list());
    },
    { onError: () => Response.json({ error: 'failed' }, { status: 500 }) },
  );
  return { port: await serveFetch(handler), open };
}

async function startHono(pool) {
  const { containerMiddleware, requireTransactionScope, withTransaction } = await import('@ambit/hono');
  const { Hono } = await import('hono');
  const { container, open } = await ambitContainer(pool);
  const app = new Hono();
  app.onError((_error, c) => c.json({ error: 'failed' }, 500));
  app.use(containerMiddleware(container));
  app.use((c, next) => {
    c.get('container').resolve('IContext');
    return next();
  });
  app.get('/products', async (c) => c.json(await c.get('container').resolve('IProducts').list()));
  app.post('/orders', withTransaction(), async (c) => {
    const orders = requireTransactionScope(c).resolve('IOrders');
    return c.json(await orders.create(await c.req.json()), 201);
  });
  return { port: await serveFetch(app.fetch), open };
}

async function startNode(pool) {
  const { createServer } = await import('node:http');
  const { createHandler, withTransaction } = await import('@ambit/http');
  const { container, open } = await ambitContainer(pool);
  const sendJson = (res, status, body) => {
    const text = JSON.stringify(body);
    res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    res.end(text);
  };
  const handler = createHandler(
    container,
    async (req, res, scope) => {
      scope.resolve('IContext');
      if (req.method === 'GET') return sendJson(res, 200, await scope.resolve('IProducts').list());
      let text = '';
      for await (const chunk of req) text += chunk;
      return withTransaction(async (_req, _res, transactionScope) => {
        sendJson(res, 201, await transactionScope.resolve('IOrders').create(JSON.parse(text)));
      })(req, res, scope);
    },
    { onError: (_error, _req, res) => (res.headersSent ? res.destroy() : sendJson(res, 500, { error: 'failed' })) },
  );
  return { port: await portOf(createServer(handler).listen(0, '127.0.0.1')), open };
}

async function startAwilixOnExpress(pool) {
  const { scopePerRequest } = await import('awilix-express');
  const { default: express } = await import('express');
  const app = express();
  app.use(scopePerRequest(await awilixContainer()));
  app.use((req, res, next) => {
    req.container.resolve('context');
    next();
  });
  app.use(express.json());
  app.get('/products', async (req, res) => {
    res.json(await req.container.resolve('products').list());
  });
  app.post('/orders', async (req, res) => {
    res.status(201).json(await inTransaction(pool, (connection) => new Orders(connection).create(req.body)));
  });
  return { port: await listenOnExpress(app) };
}

async function startAwilixOnFastify(pool) {
  const { fastifyAwilixPlugin } = await import('@fastify/awilix');
  const { default: fastify } = await import('fastify');
  const server = fastify();
  await server.register(fastifyAwilixPlugin, { container: await awilixContainer() });
  server.addHook('onRequest', async (request) => {
    request.diScope.resolve('context');
  });
  server.get('/products', (request) => request.diScope.resolve('products').list());
  server.post('/orders', async (request, reply) => {
    const order = await inTransaction(pool, (connection) => new Orders(connection).create(request.body));
    reply.code(201);
    return order;
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { port: server.server.address().port };
}

async function ambitContainer(pool) {
  const { Container, MetadataInjector, Registration, hasTag, scope, singleton } = await import('@ambit/container');
  const { openScopes } = await import('@ambit/container/tools');
  const perRequest = [singleton(), scope(hasTag('request'))];
  const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    Registration.fromValue(pool).to('IDatabasePool'),
    Registration.fromClass(Context, [])
      .pipe(...perRequest)
      .to('IContext'),
    Registration.fromClass(Products, ['IContext'])
      .pipe(...perRequest)
      .to('IProducts'),
    Registration.fromClass(Orders, ['IConnection'])
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IOrders'),
  );
  return { container, open: () => openScopes(container).length };
}

async function awilixContainer() {
  const { asClass, createContainer, InjectionMode } = await import('awilix');
  return createContainer({ injectionMode: InjectionMode.CLASSIC }).register({
    context: asClass(Context)
      .scoped()
      .disposer((context) => context.dispose()),
    products: asClass(Products).scoped(),
  });
}

/** Adds the error handler, and gives the port that the Express application listens on. */
function listenOnExpress(app) {
  app.use((error, _req, res, _next) => {
    res.status(error.status ?? 500).json({ error: 'something went wrong' });
  });
  return portOf(app.listen(0, '127.0.0.1'));
}

/** Gives the port of a server for a function of a `Request`: what Bun and Deno have of their own, and Hono's on Node. */
async function serveFetch(fetch) {
  const { Bun, Deno } = globalThis;
  const hostname = '127.0.0.1';
  if (Bun) return Bun.serve({ port: 0, hostname, idleTimeout: 0, fetch }).port;
  if (Deno) return Deno.serve({ port: 0, hostname, onListen: () => undefined }, fetch).addr.port;
  const { serve } = await import('@hono/node-server');
  return portOf(serve({ fetch, port: 0, hostname }));
}

async function portOf(server) {
  await once(server, 'listening');
  return server.address().port;
}
