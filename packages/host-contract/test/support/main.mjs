// The main file of an application: node main.mjs <Express|Fastify|node:http> <SQLite file>. Tells its parent what happens.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Container, onDispose, Registration, singleton } from '@ambit/container';
import { createHandler, withTransaction as withNodeTransaction } from '@ambit/http';
import { containerMiddleware, disposeOnSignal, withTransaction } from '@ambit/express';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import express from 'express';
import { fastify } from 'fastify';

const [, , host, path] = process.argv;
const container = new Container({ tags: ['application'] });
container.addRegistration(
  Registration.fromFactory(() => createSqlitePool({ path }))
    .pipe(
      singleton(),
      onDispose(async (pool) => {
        await pool.close();
        process.send({ event: 'disposed' });
      }),
    )
    .to('IDatabasePool'),
);

/** Writes the order, then waits for the parent's word unless the order says otherwise. */
async function place(scope, { id, wait }) {
  await scope.resolve('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [id]);
  if (!wait) return;
  process.send({ event: 'working' });
  await once(process, 'message');
}

if (host === 'Express') {
  const app = express();
  app.use(containerMiddleware(container), express.json());
  app.post('/orders', withTransaction(), async (req, res) => {
    await place(req.transactionScope, req.body);
    res.status(201).json({});
  });
  const server = app.listen(0, '127.0.0.1', () => process.send({ event: 'listening', port: server.address().port }));
  disposeOnSignal(server, container);
} else if (host === 'node:http') {
  const placeOrder = withNodeTransaction(async (req, res, scope) => {
    await place(scope, await json(req));
    res.writeHead(201, { 'content-type': 'application/json' }).end('{}');
  });
  const server = createServer(createHandler(container, placeOrder));
  server.listen(0, '127.0.0.1', () => process.send({ event: 'listening', port: server.address().port }));
  disposeOnSignal(server, container);
} else {
  const app = fastify();
  await app.register(containerPlugin, { container });
  await app.register(transactionPlugin);
  app.post('/orders', async (request, reply) => {
    await place(await request.startTransaction(), request.body);
    await request.commitTransaction();
    return reply.code(201).send({});
  });
  process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  process.send({ event: 'listening', port: app.server.address().port });
}
