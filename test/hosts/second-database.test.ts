import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Container, type IContainer } from '@ambit/container';
import * as onExpress from '@ambit/express';
import * as onFastify from '@ambit/fastify';
import * as onFetch from '@ambit/fetch';
import * as onHono from '@ambit/hono';
import * as onNode from '@ambit/http';
import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { afterEach, beforeEach, expect, test } from 'vitest';

const analytics = { pool: 'IAnalyticsPool', connection: 'IAnalyticsConnection' };

/** What each host runs in a transaction on the second database, with one on the main database in it. */
async function store(scope: IContainer): Promise<string> {
  await scope.resolve<IConnection>('IAnalyticsConnection').query("INSERT INTO events VALUES ('seen')");
  await runInTransaction(scope, (inner) =>
    inner.resolve<IConnection>('IConnection').query("INSERT INTO orders VALUES ('tea')"),
  );
  return 'stored';
}

/** Sends one request, and resolves with the text of its response. */
type Ask = (container: Container) => Promise<string>;

const askNode = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method: 'POST' });
  const text = await response.text();
  await onNode.drain(server);
  return text;
};
const askFastify = async (container: Container, route: 'by option' | 'by call'): Promise<string> => {
  const server = fastify();
  await server.register(onFastify.containerPlugin, { container: () => container });
  await server.register(onFastify.transactionPlugin);
  if (route === 'by option') {
    server.post('/', { config: { transaction: analytics } }, (request) =>
      store(onFastify.requireTransactionScope(request)),
    );
  } else {
    server.post('/', async (request) => {
      const stored = await store(await request.startTransaction(analytics));
      await request.commitTransaction();
      return stored;
    });
  }
  const { body } = await server.inject({ method: 'POST', url: '/' });
  await server.close();
  return body;
};

const hosts: [string, Ask][] = [
  [
    'Express',
    (container) => {
      const app = express().use(onExpress.containerMiddleware(container));
      app.post('/', onExpress.withTransaction(analytics), async (req, res) => {
        res.send(await store(onExpress.requireTransactionScope(req)));
      });
      return askNode(app);
    },
  ],
  ['Fastify, with the option of a route', (container) => askFastify(container, 'by option')],
  ['Fastify, with startTransaction()', (container) => askFastify(container, 'by call')],
  [
    'node:http',
    (container) => {
      const handler = onNode.withTransaction(async (_req, res, scope) => res.end(await store(scope)), analytics);
      return askNode(onNode.createHandler(container, handler));
    },
  ],
  [
    'a fetch handler',
    async (container) => {
      const handler = onFetch.withTransaction(async (_request, scope) => new Response(await store(scope)), analytics);
      const response = await onFetch.createHandler(container, handler)(new Request('http://localhost/'));
      return response.text();
    },
  ],
  [
    'Hono',
    async (container) => {
      const app = new Hono().use(onHono.containerMiddleware(container));
      app.post('/', onHono.withTransaction(analytics), async (c) =>
        c.text(await store(onHono.requireTransactionScope(c))),
      );
      return (await app.request('/', { method: 'POST' })).text();
    },
  ],
];

let container: Container;
let main: IDatabasePool;
let other: IDatabasePool;

beforeEach(async () => {
  main = createSqlitePool({ path: ':memory:' });
  other = createSqlitePool({ path: ':memory:' });
  await main.query('CREATE TABLE orders (name text)');
  await other.query('CREATE TABLE events (name text)');
  container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => main);
  container.register('IAnalyticsPool', () => other);
});
afterEach(async () => {
  await Promise.all([main.close(), other.close()]);
});

test.each(hosts)('%s runs a handler in a transaction on a second database', async (_name, ask) => {
  await expect(ask(container)).resolves.toBe('stored');
  await expect(main.query('SELECT name FROM orders')).resolves.toEqual([{ name: 'tea' }]);
  await expect(other.query('SELECT name FROM events')).resolves.toEqual([{ name: 'seen' }]);
});
