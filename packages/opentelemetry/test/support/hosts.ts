import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Container } from '@ambit/container';
import { containerMiddleware, withTransaction } from '@ambit/express';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { FakePool } from '@ambit/transaction/testing';
import express from 'express';
import { fastify } from 'fastify';

/** A small application: `GET /users`, `POST /orders`, and `POST /failing`, whose handler throws after a statement. */
export interface App {
  readonly url: string;
  readonly pool: IDatabasePool;
  readonly container: Container;
  close(): Promise<void>;
}

const INSERT = `INSERT INTO orders VALUES ($1, 'secret')`;

function makeContainer(pool: IDatabasePool): Container {
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  return container;
}

const connectionOf = (scope: { resolve<T>(key: string): T } | undefined): IConnection =>
  scope?.resolve<IConnection>('IConnection') as IConnection;

async function onExpress(pool: FakePool): Promise<App> {
  const container = makeContainer(pool);
  const app = express();
  app.use(containerMiddleware(container));
  app.get('/users', (_req, res) => {
    res.json([]);
  });
  app.post('/orders', withTransaction(), async (req, res) => {
    await connectionOf(req.transactionScope).query(INSERT, [1]);
    res.status(201).json({});
  });
  app.post('/failing', withTransaction(), async (req) => {
    await connectionOf(req.transactionScope).query(INSERT, [1]);
    throw new Error('the handler failed');
  });
  app.use(((_error, _req, res, _next) => {
    res.status(500).end();
  }) satisfies express.ErrorRequestHandler);
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    pool,
    container,
    close: async () => {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await container.dispose();
    },
  };
}

async function onFastify(pool: FakePool): Promise<App> {
  const container = makeContainer(pool);
  const server = fastify();
  await server.register(containerPlugin, { container });
  await server.register(transactionPlugin);
  server.get('/users', async () => []);
  server.post('/orders', async (request, reply) => {
    await connectionOf(await request.startTransaction()).query(INSERT, [1]);
    await request.commitTransaction();
    return reply.code(201).send({});
  });
  server.post('/failing', async (request) => {
    await connectionOf(await request.startTransaction()).query(INSERT, [1]);
    throw new Error('the handler failed');
  });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  return { url, pool, container, close: () => server.close() };
}

export const hosts = { Express: onExpress, Fastify: onFastify } as const;
