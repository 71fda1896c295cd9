import type { Container, IContainer } from '@ambit/container';
import { errorResponse } from '@ambit/fetch';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { validator } from 'hono/validator';
import { readOrder } from './input.ts';
import { logRequest, requestIdOf } from './log.ts';

export function createApp(container: Container) {
  const app = new Hono();
  app.use(containerMiddleware(container, { register: registerId }));
  app.get('/health/live', (c) => c.json({ status: 'live' }));
  app.get('/health/ready', async (c) => {
    await c.var.container.resolve('IDatabasePool').query('SELECT 1');
    return c.json({ status: 'ready' });
  });

  app.use(log, bodyLimit({ maxSize: 100_000 }));
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

/** Once per request: every service of the request gets the same id. */
const registerId = (scope: IContainer, c: Context) =>
  scope.register('IRequestId', () => requestIdOf(c.req.header('x-request-id')));

const log: MiddlewareHandler = async (c, next) => {
  const begun = performance.now();
  const id = c.var.container.resolve('IRequestId');
  c.header('x-request-id', id);
  await next();
  logRequest({ id, method: c.req.method, path: c.req.path, status: c.res.status, begun });
};
