import { fastifyAwilixPlugin } from '@fastify/awilix';
import fastify from 'fastify';
import { awilixContainer } from '../containers.mjs';
import { inTransaction, Orders } from '../service.mjs';

export async function start(pool) {
  const server = fastify();
  await server.register(fastifyAwilixPlugin, { container: awilixContainer() });
  server.addHook('onRequest', async (request) => {
    request.diScope.resolve('context');
  });
  server.get('/products', (request) => request.diScope.resolve('products').list());
  server.post('/orders', async (request, reply) => {
    const order = await inTransaction(pool, (connection) => new Orders(connection).create(request.body));
    reply.code(201);
    return order;
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { port: server.server.address().port };
}
