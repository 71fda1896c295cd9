import { openScopes } from '@ambit/container/tools';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import fastify from 'fastify';
import { ambitContainer } from '../containers.mjs';

export async function start(pool) {
  const container = ambitContainer(pool);
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
  return { port: server.server.address().port, open: () => openScopes(container).length };
}
