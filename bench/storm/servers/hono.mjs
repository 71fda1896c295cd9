import { openScopes } from '@ambit/container/tools';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { Hono } from 'hono';
import { ambitContainer } from '../containers.mjs';
import { serveFetch } from '../serve-fetch.mjs';

export async function start(pool) {
  const container = ambitContainer(pool);
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
  return { port: await serveFetch(app.fetch), open: () => openScopes(container).length };
}
