// A shop whose transactions have all five faults that the transaction check finds. It sends itself a request for each and
// prints the findings: node --enable-source-maps dist/transaction-check.js [express | fastify]
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Container, type IContainer, lifetimes, type Services } from '@ambit/container';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/express';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import express from 'express';
import { fastify } from 'fastify';

class Orders {
  readonly #connection: IConnection;
  constructor(connection: IConnection) {
    this.#connection = connection;
  }

  async place(product: string): Promise<void> {
    await this.#connection.query('INSERT INTO orders (product) VALUES ($1)', [product]);
  }

  /** One SELECT for each order, where one for all would do. */
  async list(): Promise<unknown[]> {
    const ids = await this.#connection.query<{ id: number }>('SELECT id FROM orders LIMIT 20');
    const list: unknown[] = [];
    for (const { id } of ids) {
      list.push(...(await this.#connection.query('SELECT product FROM orders WHERE id = $1', [id]))); // fault: repeated
    }
    return list;
  }
}

/** A singleton, so it has the pool and not the connection of a transaction: it does not see the order. */
class Stock {
  readonly #pool: IDatabasePool;
  constructor(pool: IDatabasePool) {
    this.#pool = pool;
  }

  async left(product: string): Promise<number> {
    const ordered = await this.#pool.query('SELECT 1 FROM orders WHERE product = $1', [product]); // fault: outside
    return 100 - ordered.length;
  }
}

/** Where orders are announced. */
class Suppliers {
  readonly #url: string;
  constructor(url: string) {
    this.#url = url;
  }

  async announce(product: string): Promise<void> {
    const response = await fetch(`${this.#url}/${product}`, { method: 'POST' }); // fault: fetch
    await response.text();
  }

  async price(): Promise<void> {
    const request = get(`${this.#url}/price`, { agent: false }); // fault: http
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    response.resume();
  }
}

const { of, make, value, registered, build } = lifetimes('application', 'request', 'transaction');

const shop = (pool: IDatabasePool, suppliersUrl: string) =>
  build({
    IDatabasePool: make('application', () => pool),
    IConnection: registered('transaction').as<IConnection>(),
    ISuppliersUrl: value(suppliersUrl),
    IStock: of('application', Stock, ['IDatabasePool']),
    ISuppliers: of('application', Suppliers, ['ISuppliersUrl']),
    IOrders: of('transaction', Orders, ['IConnection']),
  });

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof shop>> {}
}

/** What the routes do in their transaction; each has one fault. */
const ROUTES: Readonly<Record<string, (transaction: IContainer, request: IContainer) => Promise<unknown>>> = {
  outside: async (transaction) => {
    await transaction.resolve('IOrders').place('apple');
    return transaction.resolve('IStock').left('apple');
  },
  second: async (_transaction, request) => {
    const readOrders = (inner: IContainer): Promise<unknown> =>
      inner.resolve('IConnection').query('SELECT count(*) AS orders FROM orders');
    return runInTransaction(request, readOrders, { readOnly: true, propagation: 'requires-new' }); // fault: second
  },
  fetch: async (transaction) => {
    await transaction.resolve('IOrders').place('pear');
    await transaction.resolve('ISuppliers').announce('pear');
  },
  http: async (transaction) => {
    await transaction.resolve('ISuppliers').price();
  },
  gap: async (transaction) => {
    const connection = transaction.resolve('IConnection');
    await connection.query("INSERT INTO orders (product) VALUES ('plum')"); // fault: gap
    await pause(600);
    await connection.query('SELECT 1 AS paid'); // fault: until
  },
  repeated: (transaction) => transaction.resolve('IOrders').list(),
};

const createContainer = (pool: IDatabasePool, suppliersUrl: string): Container =>
  new Container({ tags: ['application'] }).addRegistration(...shop(pool, suppliersUrl).registrations);

interface Running {
  readonly url: string;
  close(): unknown;
}

const urlOf = (address: AddressInfo | string | null): string => `http://127.0.0.1:${(address as AddressInfo).port}`;

async function startExpress(container: Container): Promise<Running> {
  const app = express();
  app.use(containerMiddleware(container));
  const orders = express.Router();
  for (const [name, handle] of Object.entries(ROUTES)) {
    orders.post(`/${name}/:id`, withTransaction(), async (req, res) => {
      await handle(requireTransactionScope(req), req.container);
      res.sendStatus(204);
    });
  }
  app.use('/orders', orders);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: urlOf(server.address()), close: () => server.close() };
}

async function startFastify(container: Container): Promise<Running> {
  const app = fastify();
  await app.register(containerPlugin, { container });
  await app.register(transactionPlugin);
  for (const [name, handle] of Object.entries(ROUTES)) {
    app.post(`/orders/${name}/:id`, async (request, reply) => {
      await handle(await request.startTransaction(), request.container);
      await request.commitTransaction();
      return reply.code(204).send();
    });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { url: urlOf(app.server.address()), close: () => app.close() };
}

const suppliers = createServer((_req, res) => res.end()).listen(0, '127.0.0.1');
await once(suppliers, 'listening');
const folder = mkdtempSync(join(tmpdir(), 'ambit-shop-'));
const raw = createSqlitePool({ path: join(folder, 'shop.db') });
await raw.query('CREATE TABLE orders (id INTEGER PRIMARY KEY, product TEXT)');
for (let id = 1; id <= 12; id++) await raw.query('INSERT INTO orders (product) VALUES ($1)', ['apple']);

const check = transactionCheck({ gapMs: 500, report: ({ message }) => console.log(message) });
const container = createContainer(check.pool(raw), urlOf(suppliers.address()));
const server = await (process.argv[2] === 'fastify' ? startFastify : startExpress)(container);
for (const name of Object.keys(ROUTES)) {
  const { status } = await fetch(`${server.url}/orders/${name}/7`, { method: 'POST' });
  console.log(`${name}: ${status}`);
}

await server.close();
suppliers.closeAllConnections();
suppliers.close();
await container.dispose();
check.stop();
rmSync(folder, { recursive: true });
