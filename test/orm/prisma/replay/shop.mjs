// A shop with faults that show in production only: each handler as it was, and as it was corrected. On three hosts, through each way to ask.
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { Container } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { createHandler } from '@ambit/http';
import { runInTransaction } from '@ambit/transaction';
import express from 'express';
import { fastify } from 'fastify';
import { openWays, WAYS } from './ways.mjs';

const newOrder = (product, reference) => ({ id: crypto.randomUUID(), product, reference, at: new Date() });

/** The corrected handlers respond to a refused statement, and do not fail. */
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
  ...Object.keys(ASKED).flatMap((fault) => WAYS.map((way) => ({ fault, way }))),
  ...Object.keys(OTHERS).map((fault) => ({ fault, way: 'query()' })),
].map((one, i) => ({ ...one, host: ['Express', 'Fastify', 'node:http'][(i + Math.floor(i / 3)) % 3] }));

/** @param {{ postgres: object, mariadb: object, schema: string, isFixed: boolean, upstream?: string, meanwhile?: (sql: string) => Promise<unknown> }} parts */
export async function createShop({
  postgres,
  mariadb,
  schema,
  isFixed,
  upstream = '',
  meanwhile = async () => undefined,
}) {
  const ways = await openWays(postgres, schema);
  const over = (pool) => new Container().register('IDatabasePool', () => pool);
  const [container, ofMariadb] = /** @type {const} */ ([over(postgres), over(mariadb)]);
  const handle = async (scope, { fault, way, upstream: address = upstream }) => {
    const transaction = (work) =>
      runInTransaction(
        way === 'MariaDB' ? ofMariadb : scope,
        async (inner) => work(ways[way](inner.resolve('IConnection'))),
        { retries: 0 },
      );
    if (fault === 'none') return transaction(({ product }) => product('tea'));
    const parts = { scope, pool: postgres, transaction, isFixed, upstream: address, meanwhile };
    return (await (ASKED[fault] ?? OTHERS[fault])(parts)) ?? {};
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
  await onFastify.ready();
  return {
    container,
    servers: { Express: http.createServer(onExpress), Fastify: onFastify.server, 'node:http': onNode },
  };
}
