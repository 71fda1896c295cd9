import { containerMiddleware, requireTransactionScope, resolve, withTransaction } from '@ambit/express';
import { containerPlugin, requireTransactionScope as scopeOf, transactionPlugin } from '@ambit/fastify';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { fastify, type FastifyInstance } from 'fastify';
import { type Order, ORDER_SCHEMA, readOrder } from './orders.ts';
import type { Shop } from './shop.ts';

export function onExpress(shop: Shop): Express {
  const app = express();
  app.use(
    containerMiddleware((req) => shop.scopeFor(req)),
    express.json(),
  );
  app.post('/orders', withTransaction(), async (req, res) => {
    const order = readOrder(req.body);
    await requireTransactionScope(req).resolve('IOrders').place(order);
    res.status(201).json(order);
  });
  app.get('/orders/:id', async (req, res) => {
    res.json(await resolve(req, 'IOrders').find(req.params.id));
  });
  const sendError: ErrorRequestHandler = async (error, req, res, next) => {
    if (res.headersSent) return next(error);
    const { status, headers, body } = await shop.refuse(error, req);
    res.status(status).set(headers).json(body);
  };
  return app.use(sendError);
}

/** `close()` of the server disposes the shop. */
export async function onFastify(shop: Shop): Promise<FastifyInstance> {
  const server = fastify();
  server.setErrorHandler(async (error, request, reply) => {
    const { status, headers, body } = await shop.refuse(error, request);
    return reply.code(status).headers(headers).send(body);
  });
  await server.register(containerPlugin, { container: (request) => shop.scopeFor(request) });
  await server.register(transactionPlugin);
  server.post<{ Body: Order }>(
    '/orders',
    { config: { transaction: true }, schema: { body: ORDER_SCHEMA } },
    async (request, reply) => {
      await scopeOf(request).resolve('IOrders').place(request.body);
      return reply.code(201).send(request.body);
    },
  );
  server.get<{ Params: { id: string } }>('/orders/:id', (request) =>
    request.container.resolve('IOrders').find(request.params.id),
  );
  // The container of a request is that of its tenant, so the plugin knows no application container to dispose.
  server.addHook('onClose', () => shop[Symbol.asyncDispose]());
  return server;
}
