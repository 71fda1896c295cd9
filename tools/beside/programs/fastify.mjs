import { containerPlugin, requireTransactionScope, transactionPlugin } from '@ambit/fastify';
import { inspectorPlugin } from '@ambit/inspector/fastify';
import { fastify } from 'fastify';
import { application, proveHost, storeOrder } from './hosts.mjs';

const container = await application();
const server = fastify();
await server.register(inspectorPlugin, { container, enabled: true, token: 'a token of 16 characters' });
await server.register(containerPlugin, { container });
await server.register(transactionPlugin);
server.post('/orders/:id', { config: { transaction: true } }, async (request, reply) => {
  await storeOrder(requireTransactionScope(request), request.params.id);
  return reply.code(201).send();
});
server.post('/by-call/:id', async (request, reply) => {
  await storeOrder(await request.startTransaction(), request.params.id);
  await request.commitTransaction();
  return reply.code(201).send();
});
await server.listen({ port: 0, host: '127.0.0.1' });
await proveHost(`http://127.0.0.1:${server.server.address().port}`, container);
await server.close();
