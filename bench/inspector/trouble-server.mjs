// An application whose routes go well, fail, roll back, never complete their response, or take long, with the inspector: `trouble.mjs` starts it.
import { Container } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { inspectorMiddleware } from '@ambit/inspector/express';
import { inspectorPlugin } from '@ambit/inspector/fastify';
import { runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import express from 'express';
import { fastify } from 'fastify';
import { setTimeout as pause } from 'node:timers/promises';

// Without a token the inspector is for development only.
process.env['NODE_ENV'] = 'development';

const SLOW_MS = 1050;

const pool = createSqlitePool({ path: ':memory:' });
await pool.query('CREATE TABLE orders (id TEXT)');
const container = new Container({ tags: ['application'] });
container.register('IDatabasePool', () => pool);
const scopes = { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] };
// On a busy machine further requests are slow, and must not displace those that are counted.
const options = { container, scopes, keepTrouble: 5000 };

/** Returns the status, or undefined for the head of a response alone. */
const routes = {
  well: async (scope) => {
    await order(scope);
    return 201;
  },
  failed: () => 500,
  'rolled-back': (scope) =>
    order(scope, () => {
      throw new Error('sold out');
    }).catch(() => 200),
  aborted: () => undefined,
  slow: async () => {
    await pause(SLOW_MS);
    return 200;
  },
};

function order(scope, then = () => undefined) {
  return runInTransaction(scope, async (transaction) => {
    await transaction.resolve('IConnection').query("INSERT INTO orders VALUES ('one')");
    then();
  });
}

async function onExpress() {
  const app = express();
  app.use(inspectorMiddleware(options), containerMiddleware(container));
  for (const [name, handle] of Object.entries(routes)) {
    app.get(`/${name}/:id`, async (req, res) => {
      const status = await handle(req.container);
      if (status === undefined) res.flushHeaders();
      else res.sendStatus(status);
    });
  }
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

async function onFastify() {
  const app = fastify();
  await app.register(inspectorPlugin, options);
  await app.register(containerPlugin, { container });
  for (const [name, handle] of Object.entries(routes)) {
    app.get(`/${name}/:id`, async (request, reply) => {
      const status = await handle(request.container);
      if (status !== undefined) return reply.code(status).send(String(status));
      return reply.hijack().raw.flushHeaders();
    });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server.address().port;
}

process.send({ port: await (process.argv[2] === 'Express' ? onExpress() : onFastify()) });
