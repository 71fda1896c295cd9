// Compiled in a project that has only the packed packages, with strict options: one application for each host.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Container,
  hasTag,
  inject,
  MetadataInjector,
  onDispose,
  onStart,
  Registration,
  scope,
  singleton,
} from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import * as ambitExpress from '@ambit/express';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import * as ambitFetch from '@ambit/fetch';
import * as ambitHono from '@ambit/hono';
import { drain } from '@ambit/http';
import { serve } from '@hono/node-server';
import express, { type NextFunction, type Request, type Response as ExpressResponse } from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';

interface Order {
  readonly id: number;
  readonly product: string;
}

class OrderRepository {
  constructor(@inject('IConnection') private readonly connection: IConnection) {}

  async create(product: string): Promise<Order> {
    const [order] = await this.connection.query<Order>(
      'INSERT INTO orders (product) VALUES ($1) RETURNING id, product',
      [product],
    );
    if (!order) throw new Error('nothing was inserted');
    return order;
  }
}

class OrderList {
  constructor(@inject('IDatabasePool') private readonly pool: IDatabasePool) {}

  all(): Promise<Order[]> {
    return this.pool.query<Order>('SELECT id, product FROM orders ORDER BY id');
  }
}

declare module '@ambit/container' {
  interface ServiceMap {
    IDatabasePool: IDatabasePool;
    IConnection: IConnection;
    IOrderRepository: OrderRepository;
    IOrderList: OrderList;
  }
}

async function openApplication(): Promise<Container> {
  const pool = Registration.fromFactory((): IDatabasePool => createSqlitePool({ path: ':memory:' })).pipe(
    singleton(),
    onStart(async (database) => {
      await database.query('CREATE TABLE orders (id INTEGER PRIMARY KEY, product TEXT NOT NULL)');
    }),
    onDispose((database) => database.close()),
  );
  const app = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    pool.to('IDatabasePool'),
    Registration.fromClass(OrderList)
      .pipe(singleton(), scope(hasTag('request')))
      .to('IOrderList'),
    Registration.fromClass(OrderRepository)
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IOrderRepository'),
  );
  verify(app, { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] });
  await app.start();
  return app;
}

/** Orders a pen, then a broken thing, then lists what is stored. */
async function tryOut(port: number): Promise<void> {
  const order = async (product: string): Promise<number> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port}/orders`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ product }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const statuses = [await order('pen'), await order('broken')];
  const stored: unknown = await (await fetch(`http://127.0.0.1:${port}/orders`)).json();
  const said = JSON.stringify({ statuses, stored });
  if (said !== '{"statuses":[201,500],"stored":[{"id":1,"product":"pen"}]}') throw new Error(said);
}

async function onExpress(): Promise<void> {
  const container = await openApplication();
  const app = express();
  app.use(ambitExpress.containerMiddleware(container), express.json());
  app.post('/orders', ambitExpress.withTransaction(), async (req, res) => {
    const { product } = req.body as Order;
    const order: Order | undefined = await req.transactionScope?.resolve('IOrderRepository').create(product);
    if (product === 'broken') throw new Error('after the INSERT');
    res.status(201).json(order);
  });
  app.get(
    '/orders',
    ambitExpress.withDeps({ orders: 'IOrderList' }, async (_req, res, { orders }) => {
      const all: Order[] = await orders.all();
      res.json(all);
    }),
  );
  app.use((_error: unknown, _req: Request, res: ExpressResponse, _next: NextFunction) => {
    res.status(500).json({ error: 'Internal Server Error' });
  });

  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  await tryOut((server.address() as AddressInfo).port);
  await ambitExpress.drain(server);
  await container.dispose();
}

async function onFastify(): Promise<void> {
  const server = fastify();
  await server.register(containerPlugin, { container: await openApplication() });
  await server.register(transactionPlugin);
  server.post<{ Body: Order }>('/orders', async (request, reply) => {
    const transaction = await request.startTransaction();
    const order: Order = await transaction.resolve('IOrderRepository').create(request.body.product);
    if (request.body.product === 'broken') throw new Error('after the INSERT');
    await request.commitTransaction();
    return reply.code(201).send(order);
  });
  server.get('/orders', (request): Promise<Order[]> => request.container.resolve('IOrderList').all());
  server.setErrorHandler((_error, _request, reply) => reply.code(500).send({ error: 'Internal Server Error' }));

  await server.listen({ port: 0, host: '127.0.0.1' });
  await tryOut((server.server.address() as AddressInfo).port);
  await server.close();
}

async function onFetch(): Promise<void> {
  const container = await openApplication();
  const place = ambitFetch.withTransaction(async (request, within) => {
    const { product } = (await request.json()) as Order;
    const order: Order = await within.resolve('IOrderRepository').create(product);
    if (product === 'broken') throw new Error('after the INSERT');
    return Response.json(order, { status: 201 });
  });
  const handler = ambitFetch.createHandler(
    container,
    async (request, within, context) =>
      request.method === 'POST'
        ? place(request, within, context)
        : Response.json(await within.resolve('IOrderList').all()),
    { onError: () => Response.json({ error: 'Internal Server Error' }, { status: 500 }) },
  );

  const port = await new Promise<number>((resolve) => {
    const server = serve({ fetch: (request) => handler(request), port: 0, hostname: '127.0.0.1' }, (info) => {
      server.unref();
      resolve(info.port);
    });
  });
  await tryOut(port);
  await handler.drain();
  await container.dispose();
}

async function onHono(): Promise<void> {
  const container = await openApplication();
  const app = new Hono();
  app.use(ambitHono.containerMiddleware(container));
  app.post('/orders', ambitHono.withTransaction(), async (c) => {
    const { product } = await c.req.json<Order>();
    const order: Order = await ambitHono.requireTransactionScope(c).resolve('IOrderRepository').create(product);
    if (product === 'broken') throw new Error('after the INSERT');
    return c.json(order, 201);
  });
  app.get('/orders', async (c) => c.json(await c.get('container').resolve('IOrderList').all()));
  app.onError((_error, c) => c.json({ error: 'Internal Server Error' }, 500));

  const server = await new Promise<Server>((resolve) => {
    const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening as Server));
  });
  await tryOut((server.address() as AddressInfo).port);
  await drain(server);
  await container.dispose();
}

for (const onHost of [onExpress, onFastify, onFetch, onHono]) {
  await onHost();
  console.log(`${onHost.name}: one order committed, one rolled back`);
}
