import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { drain } from '@ambit/http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { openApplication, tryOut, type Order } from './orders.js';

const container = await openApplication();
const app = new Hono();
app.use(containerMiddleware(container));
app.post('/orders', withTransaction(), async (c) => {
  const { product } = await c.req.json<Order>();
  const order: Order = await requireTransactionScope(c).resolve('IOrderRepository').create(product);
  if (product === 'broken') throw new Error('after the INSERT');
  return c.json(order, 201);
});
app.get('/orders', async (c) => c.json(await c.get('container').resolve('IOrderList').all()));
app.onError((_error, c) => c.json({ error: 'Internal Server Error' }, 500));

const server = await new Promise<Server>((resolve) => {
  const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening as Server));
});
await tryOut((server.address() as AddressInfo).port);
await drain(server);
await container.dispose();
