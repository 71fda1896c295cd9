import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { Hono } from 'hono';
import { application, proveHost, storeOrder } from './hosts.mjs';

const container = await application();
const app = new Hono();
app.use('*', containerMiddleware(container));
app.post('/orders/:id', withTransaction(), async (c) => {
  await storeOrder(requireTransactionScope(c), c.req.param('id'));
  return c.body(null, 201);
});
app.onError((error, c) => {
  if (error.message !== 'refused') console.error(error);
  return c.body(null, 500);
});
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
await once(server, 'listening');
await proveHost(`http://127.0.0.1:${server.address().port}`, container);
server.close();
await container.dispose();
