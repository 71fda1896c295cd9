import { randomUUID } from 'node:crypto';
import type { Container } from '@ambit/container';
import { containerPlugin, requireTransactionScope, transactionPlugin } from '@ambit/fastify';
import { fastify, type FastifyError, type FastifyInstance } from 'fastify';
import type { NewOrder } from './order.ts';

const newOrder = {
  type: 'object',
  required: ['product', 'quantity'],
  properties: {
    product: { type: 'string', minLength: 1 },
    quantity: { type: 'integer', minimum: 1 },
  },
};

/** `close()` of what it returns disposes the container, too. */
export async function createApp(container: Container): Promise<FastifyInstance> {
  // A body that comes in pieces of one byte costs Fastify 110 bytes for each.
  const app = fastify({
    bodyLimit: 100_000,
    logger: true,
    requestIdHeader: 'x-request-id',
    genReqId: () => randomUUID(),
  });
  await app.register(containerPlugin, {
    container,
    register: (scope, request) => scope.register('IRequestId', () => request.id),
  });
  await app.register(transactionPlugin);

  app.addHook('onSend', async (request, reply) => void reply.header('x-request-id', request.id));
  // Probes are not logged: they would be most of the lines.
  app.get('/health/live', { logLevel: 'error' }, () => ({ status: 'live' }));
  app.get('/health/ready', { logLevel: 'error' }, async (request) => {
    await request.container.resolve('IDatabasePool').query('SELECT 1');
    return { status: 'ready' };
  });

  app.get('/orders', (request) => request.container.resolve('IOrders').latest());
  app.post<{ Body: NewOrder }>(
    '/orders',
    { schema: { body: newOrder }, config: { transaction: true } },
    async (request, reply) => {
      const order = await requireTransactionScope(request).resolve('IOrders').place(request.body);
      return reply.code(201).send(order); // sent after COMMIT, or not at all
    },
  );
  // Every error ends here. If it was thrown in a transaction, that has been rolled back.
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const { statusCode = 500, message } = error;
    if (statusCode >= 500) request.log.error(error);
    return reply.code(statusCode).send({ error: statusCode < 500 ? message : 'The request could not be processed' });
  });
  return app;
}
