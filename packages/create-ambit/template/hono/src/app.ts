import type { Container } from '@ambit/container';
import { errorResponse } from '@ambit/fetch';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { validator } from 'hono/validator';
import { readOrder } from './input.ts';

export function createApp(container: Container) {
  const app = new Hono();
  app.use(containerMiddleware(container), bodyLimit({ maxSize: 100_000 }));

  app.get('/orders', async (c) => c.json(await c.var.container.resolve('IOrders').latest()));
  app.post('/orders', validator('json', readOrder), withTransaction(), async (c) => {
    const order = await requireTransactionScope(c).resolve('IOrders').place(c.req.valid('json'));
    return c.json(order, 201); // sent after COMMIT, or not at all
  });

  // Every error ends here. If it was thrown in a transaction, that has been rolled back.
  app.onError((error) => {
    const response = errorResponse(error);
    if (response.status >= 500) console.error(error);
    return response;
  });
  return app;
}
