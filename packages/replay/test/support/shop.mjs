// A shop with faults that show in production only: each handler as it was, and as it was corrected. On three hosts, through three ways to ask.
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { Container } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { createHandler } from '@ambit/http';
import { drizzleOn } from '@ambit/orm/drizzle';
import { kyselyOn } from '@ambit/orm/kysely';
import { runInTransaction } from '@ambit/transaction';
import { eq } from 'drizzle-orm';
import { integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import express from 'express';
import { fastify } from 'fastify';

export const SCHEMA = [
  'CREATE TABLE products (id text PRIMARY KEY, price int NOT NULL, stock int CHECK (stock >= 0), discount jsonb, big bigint, picture bytea, until timestamptz)',
  'CREATE TABLE orders (id uuid PRIMARY KEY, product text NOT NULL REFERENCES products, reference text UNIQUE, at timestamptz)',
  `INSERT INTO products VALUES ('tea', 5, 10, '{"percent": 20}', 1, '\\x00', now()), ('salt', 2, 0, NULL, 9007199254740993, NULL, '2026-01-01T15:30:00Z')`,
  `INSERT INTO orders VALUES ('00000000-0000-4000-8000-000000000001', 'tea', 'first', now())`,
];

const products = pgTable('products', {
  id: text().primaryKey(),
  price: integer().notNull(),
  stock: integer(),
  discount: jsonb(),
  until: timestamp(),
});
const orders = pgTable('orders', {
  id: uuid().primaryKey(),
  product: text().notNull(),
  reference: text(),
  at: timestamp({ withTimezone: true }),
});

/** The same three questions, by each way to ask. */
const WAYS = {
  'query()': (connection) => ({
    product: async (id) => (await connection.query('SELECT * FROM products WHERE id = $1', [id]))[0],
    order: (row) =>
      connection.query('INSERT INTO orders (id, product, reference, at) VALUES ($1, $2, $3, $4)', [
        row.id,
        row.product,
        row.reference,
        row.at,
      ]),
    take: (id, count) => connection.query('UPDATE products SET stock = stock - $1 WHERE id = $2', [count, id]),
  }),
  Kysely: (connection) => {
    const db = kyselyOn(connection);
    return {
      product: (id) => db.selectFrom('products').selectAll().where('id', '=', id).executeTakeFirst(),
      order: (row) => db.insertInto('orders').values(row).execute(),
      take: (id, count) =>
        db
          .updateTable('products')
          .set((eb) => ({ stock: eb('stock', '-', count) }))
          .where('id', '=', id)
          .execute(),
    };
  },
  Drizzle: (connection) => {
    const db = drizzleOn(connection);
    return {
      product: async (id) => (await db.select().from(products).where(eq(products.id, id)))[0],
      order: (row) => db.insert(orders).values(row),
      take: async (id, count) => {
        const [row] = await db.select().from(products).where(eq(products.id, id));
        await db
          .update(products)
          .set({ stock: row.stock - count })
          .where(eq(products.id, id));
      },
    };
  },
};

const newOrder = (product, reference) => ({ id: crypto.randomUUID(), product, reference, at: new Date() });

/** What a client may have caused is responded to as such. */
const asConflict = async (isFixed, work) => {
  if (!isFixed) return work();
  return work().catch((error) => ({ refused: error.name }));
};

/** Faults that each way to ask can show. */
const ASKED = {
  'a NULL that nobody expected': async ({ transaction, isFixed }) =>
    transaction(async ({ product, order }) => {
      const { discount } = await product('salt');
      await order(newOrder('salt', 'null'));
      return { percent: isFixed ? discount?.percent : discount.percent };
    }),
  'a row that is not there': async ({ transaction, isFixed }) =>
    transaction(async ({ product }) => {
      const found = await product('pepper');
      return { price: isFixed ? found?.price : found.price };
    }),
  'a value that is stored twice': ({ transaction, isFixed }) =>
    asConflict(isFixed, () => transaction(({ order }) => order(newOrder('tea', 'first')))),
  'a foreign key without its row': ({ transaction, isFixed }) =>
    asConflict(isFixed, () => transaction(({ order }) => order(newOrder('pepper', 'second')))),
  'a check that fails': ({ transaction, isFixed }) =>
    asConflict(isFixed, () => transaction(({ take }) => take('salt', 1))),
  'a column that must not be NULL': ({ transaction, isFixed }) =>
    asConflict(isFixed, () => transaction(({ order }) => order({ ...newOrder('tea', 'third'), product: null }))),
  'an order that was stored before the failure': ({ transaction, isFixed }) =>
    transaction(async ({ product, order, take }) => {
      await Promise.all([product('tea'), product('salt')]);
      await order(newOrder('tea', 'fourth'));
      await take('tea', 1);
      if (!isFixed) throw new RangeError('The order is too small');
    }),
  'a time zone that was not thought of': ({ transaction, isFixed }) =>
    transaction(async ({ product }) => {
      const { until } = await product('salt');
      if (!isFixed && new Date(until).getHours() > 12) throw new RangeError('The shop is closed in the afternoon');
    }),
};

/** Faults that need no ORM. `meanwhile` is what others do while it was recorded. */
const OTHERS = {
  'a conflict after all retries': ({ scope, meanwhile, isFixed }) =>
    asConflict(isFixed, () =>
      runInTransaction(
        scope,
        async (inner) => {
          const connection = inner.resolve('IConnection');
          await connection.query('SELECT stock FROM products WHERE id = $1', ['tea']);
          await meanwhile("UPDATE products SET stock = stock + 1 WHERE id = 'tea'");
          await connection.query('UPDATE products SET stock = stock - 1 WHERE id = $1', ['tea']);
        },
        { isolation: 'repeatable read', retries: 2 },
      ),
    ),
  'a deadlock': ({ scope, meanwhile, isFixed }) =>
    asConflict(isFixed, () =>
      runInTransaction(
        scope,
        async (inner) => {
          const connection = inner.resolve('IConnection');
          await connection.query('SELECT 1 FROM products WHERE id = $1 FOR UPDATE', ['tea']);
          await meanwhile(
            "BEGIN; SET LOCAL deadlock_timeout = '20s'; SELECT 1 FROM products WHERE id = 'salt' FOR UPDATE",
          );
          const other = meanwhile("SELECT 1 FROM products WHERE id = 'tea' FOR UPDATE; COMMIT");
          await new Promise((resolve) => void setTimeout(resolve, 30));
          try {
            await connection.query('SELECT 1 FROM products WHERE id = $1 FOR UPDATE', ['salt']);
          } finally {
            void other;
          }
        },
        { retries: 0 },
      ),
    ),
  'a statement that is too slow': ({ scope, isFixed }) =>
    asConflict(isFixed, () =>
      runInTransaction(scope, (inner) => inner.resolve('IConnection').query('SELECT pg_sleep(0.5)'), {
        timeoutMs: 100,
        retries: 0,
      }),
    ),
  'a row that another request has taken meanwhile': async ({ pool, meanwhile, isFixed }) => {
    const [{ stock }] = await pool.query("SELECT stock FROM products WHERE id = 'tea'");
    await meanwhile("UPDATE products SET stock = stock + 1 WHERE id = 'tea'");
    const { rowCount } = await pool.execute("UPDATE products SET stock = $1 WHERE id = 'tea' AND stock = $2", [
      stock - 1,
      stock,
    ]);
    if (rowCount === 0 && !isFixed) throw new Error('Somebody else has taken it');
  },
  'a connection that the server closes': ({ scope, meanwhile, isFixed }) =>
    asConflict(isFixed, () =>
      runInTransaction(
        scope,
        async (inner) => {
          const connection = inner.resolve('IConnection');
          const [{ pid }] = await connection.query('SELECT pg_backend_pid() AS pid');
          await meanwhile(`SELECT pg_terminate_backend(${Number(pid)})`);
          await connection.query('SELECT 1 AS one');
        },
        { retries: 0 },
      ),
    ),
  'a number that is larger than JavaScript counts': async ({ pool, isFixed }) => {
    const [{ big }] = await pool.query("SELECT big FROM products WHERE id = 'salt'");
    return { next: isFixed ? String(BigInt(big) + 1n) : (big + 1).toFixed(0) };
  },
  'bytes that are not there': async ({ pool, isFixed }) => {
    const rows = await pool.query('SELECT picture FROM products ORDER BY id');
    return { size: rows.map(({ picture }) => (isFixed ? picture?.length : picture.length)) };
  },
  'a division by zero': ({ pool, isFixed }) =>
    asConflict(isFixed, () => pool.query('SELECT 1 / stock AS share FROM products WHERE id = $1', ['salt'])),
  'a failure behind a savepoint': ({ scope, isFixed }) =>
    runInTransaction(scope, async (inner) => {
      const connection = inner.resolve('IConnection');
      await runInTransaction(inner, (nested) =>
        nested.resolve('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [crypto.randomUUID()]),
      ).catch(() => undefined);
      const [first] = await connection.query('SELECT reference FROM orders WHERE product = $1', ['salt']);
      return { reference: isFixed ? first?.reference : first.reference };
    }),
  'a 503 of another server': async ({ upstream, isFixed }) => {
    const response = await fetch(`${upstream}/prices`);
    if (!response.ok && !isFixed) throw new Error(`No prices: ${response.status} ${(await response.json()).why}`);
  },
  'another server that does not listen': ({ isFixed }) =>
    asConflict(isFixed, () =>
      fetch('http://127.0.0.1:9/prices').catch((/** @type {unknown} */ error) => {
        throw new Error('No prices', { cause: error });
      }),
    ),
  'a response that is no JSON': async ({ upstream, isFixed }) => {
    const chunks = [];
    const sent = http.request(`${upstream}/text`, { method: 'POST' });
    sent.end('hello');
    const [response] = await new Promise(
      (resolve, reject) => void sent.on('response', (...all) => resolve(all)).on('error', reject),
    );
    for await (const chunk of response) chunks.push(chunk);
    return isFixed ? { text: String(Buffer.concat(chunks)) } : JSON.parse(String(Buffer.concat(chunks)));
  },
  'a token that happens to begin with a digit': async ({ isFixed }) => {
    const number = Math.random();
    if (!isFixed && number < 2) throw new Error(`The number is ${number}`);
  },
  'a coupon that was valid at that moment': async ({ pool, isFixed }) => {
    const [{ until }] = await pool.query("SELECT until + interval '1 minute' AS until FROM products WHERE id = 'tea'");
    if (!isFixed && until.getTime() > Date.now()) throw new Error('A coupon that is valid is refused');
  },
  'a client that leaves': ({ scope }) =>
    runInTransaction(scope, async (inner) => {
      await inner.resolve('IConnection').query('SELECT 1 AS one');
      await inner.resolve('IConnection').query('SELECT pg_sleep(0.3)');
    }),
};

/** Each with the host that it is recorded on. */
export const CASES = [
  ...Object.keys(ASKED).flatMap((fault) => Object.keys(WAYS).map((way) => ({ fault, way }))),
  ...Object.keys(OTHERS).map((fault) => ({ fault, way: 'query()' })),
].map((one, i) => ({ ...one, host: ['Express', 'Fastify', 'node:http'][i % 3] }));

/** @param {{ pool: object, isFixed: boolean, upstream?: string, meanwhile?: (sql: string) => Promise<unknown> }} parts */
export async function createShop({ pool, isFixed, upstream = '', meanwhile = async () => undefined }) {
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  const handle = async (scope, { fault, way, upstream: address = upstream }) => {
    const transaction = (work) =>
      runInTransaction(scope, async (inner) => work(WAYS[way](inner.resolve('IConnection'))), { retries: 0 });
    return (
      (await (ASKED[fault] ?? OTHERS[fault])({ scope, pool, transaction, isFixed, upstream: address, meanwhile })) ?? {}
    );
  };
  const onExpress = express();
  onExpress.use(containerMiddleware(container), express.json());
  onExpress.post('/shop', async (req, res) => res.json(await handle(req.container, req.body)));
  onExpress.use((error, _req, res, next) => {
    if (res.headersSent) next(error);
    else res.status(error.status ?? 500).json({ error: error.name });
  });
  const onFastify = fastify();
  await onFastify.register(containerPlugin, { container });
  onFastify.post('/shop', (request) => handle(request.container, request.body));
  const onNode = http.createServer(
    createHandler(
      container,
      async (req, res, scope) => void res.end(JSON.stringify(await handle(scope, await json(req)))),
    ),
  );
  return { container, hosts: { Express: onExpress, Fastify: onFastify, 'node:http': onNode } };
}
