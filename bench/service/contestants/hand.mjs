import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import { v7 } from 'uuid';
import { logLine, newOrderSchema, newUserSchema, openLog } from '../hand-written.mjs';
import { openDatabase } from '../hand-database.mjs';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const userSchema = {
  type: 'object',
  properties: { id: { type: 'string' }, name: { type: 'string' }, email: { type: 'string' } },
  required: ['id', 'name', 'email'],
};

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written, Fastify',
  package: 'fastify',
  start: () => serve().listen({ port: 0, host: '127.0.0.1' }),
};

/** As one would write it who needs no container: nothing here knows of clients that leave. */
function serve() {
  const log = openLog();
  const database = openDatabase();
  const server = fastify({
    genReqId: () => randomUUID(),
    ajv: { customOptions: { coerceTypes: false } },
  });
  const audit = (action, requestId, data) =>
    log.info({ type: 'audit', action, timestamp: new Date().toISOString(), requestId, ...data });

  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  server.addHook('onResponse', ({ id, method, url }, reply, done) => {
    log.info(logLine(id, method, url, reply.statusCode, reply.elapsedTime));
    done();
  });
  server.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'There is nothing at this address' }));
  server.setErrorHandler((err, request, reply) => {
    const status = err.statusCode ?? 500;
    if (status >= 500) log.error({ msg: 'request failed', requestId: request.id, err });
    return reply.code(status).send({ error: status >= 500 ? 'Internal Server Error' : err.message });
  });

  server.get('/api/users', async (request) => {
    const users = await database.all('users');
    audit('users_listed', request.id, { count: users.length });
    return users;
  });

  server.get('/api/users/:id', async ({ params: { id } }, reply) => {
    const user = UUID.test(id) ? await database.one('user', [id.toLowerCase()]) : undefined;
    if (!user) return reply.code(404).send({ error: 'User not found' });
    return { id: user.id, name: user.name, email: user.email };
  });

  server.post(
    '/api/users',
    { schema: { body: newUserSchema, response: { 201: userSchema } } },
    async (request, reply) => {
      const { name, email } = request.body;
      const user = { id: v7(), name, email };
      await database.run('newUser', [user.id, name, email]);
      audit('user_created', request.id, { userId: user.id });
      return reply.code(201).send(user);
    },
  );

  server.post(
    '/api/orders',
    { schema: { body: newOrderSchema } },
    async ({ id: requestId, body: { items } }, reply) => {
      const order = { id: v7(), items, createdAt: new Date().toISOString() };
      await database.transaction(async (connection) => {
        await connection.insertOrder(order, requestId);
        await connection.reserve(items, requestId);
        audit('order_created', requestId, { orderId: order.id });
      });
      return reply.code(201).send(order);
    },
  );

  return server;
}
