import { createHandler, withTransaction } from '@ambit/fetch';
import { serve } from '@hono/node-server';
import { openApplication, tryOut, type Order } from './orders.js';

const container = await openApplication();
const place = withTransaction(async (request, scope) => {
  const { product } = (await request.json()) as Order;
  const order: Order = await scope.resolve('IOrderRepository').create(product);
  if (product === 'broken') throw new Error('after the INSERT');
  return Response.json(order, { status: 201 });
});
const handler = createHandler(
  container,
  async (request, scope, context) =>
    request.method === 'POST' ? place(request, scope, context) : Response.json(await scope.resolve('IOrderList').all()),
  { onError: () => Response.json({ error: 'Internal Server Error' }, { status: 500 }) },
);

const port = await new Promise<number>((resolve) => {
  const server = serve({ fetch: (request) => handler(request), port: 0, hostname: '127.0.0.1' }, (info) => {
    server.unref();
    resolve(info.port);
  });
});
await tryOut(port);
await handler.drain();
await container.dispose();
