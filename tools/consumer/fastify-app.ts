import type { AddressInfo } from 'node:net';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { fastify } from 'fastify';
import { openApplication, tryOut, type Order } from './orders.js';

const server = fastify();
await server.register(containerPlugin, { container: await openApplication() });
await server.register(transactionPlugin);
server.post<{ Body: Order }>('/orders', async (request, reply) => {
  const scope = await request.startTransaction();
  const order: Order = await scope.resolve('IOrderRepository').create(request.body.product);
  if (request.body.product === 'broken') throw new Error('after the INSERT');
  await request.commitTransaction();
  return reply.code(201).send(order);
});
server.get('/orders', (request): Promise<Order[]> => request.container.resolve('IOrderList').all());
server.setErrorHandler((_error, _request, reply) => reply.code(500).send({ error: 'Internal Server Error' }));

await server.listen({ port: 0, host: '127.0.0.1' });
await tryOut((server.server.address() as AddressInfo).port);
await server.close();
