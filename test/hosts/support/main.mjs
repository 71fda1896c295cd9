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

function report(server) {
  process.send({ event: 'listening', port: server.address().port });
  server.on('connection', (socket) => socket.on('close', () => process.send({ event: 'closed' })));
}

const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, name: 'x'.repeat(80) }));
const large = () => JSON.stringify(rows);

if (host === 'Express') {
  const app = express();
  app.use(containerMiddleware(container), express.json());
  app.post('/orders', withTransaction(), async (req, res) => {
    await place(req.transactionScope, req.body);
    res.status(201).json({});
  });
  app.get('/large', (_req, res) => res.send(large()));
  const server = app.listen(0, '127.0.0.1', () => report(server));
  disposeOnSignal(server, container);
} else if (host === 'node:http') {
  const placeOrder = withNodeTransaction(async (req, res, scope) => {
    await place(scope, await json(req));
    res.writeHead(201, { 'content-type': 'application/json' }).end('{}');
  });
  const orders = createHandler(container, placeOrder);
  const texts = createHandler(container, (_req, res) => void res.end(large()));
  const server = createServer((req, res) => (req.url === '/large' ? texts : orders)(req, res));
  server.listen(0, '127.0.0.1', () => report(server));
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
  app.get('/large', () => large());
  process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  report(app.server);
}
