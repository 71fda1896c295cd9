// A shop of eleven routes and its suite, which `check-faults.test.ts` changes, one line at a time, as pull requests do.
import { exec } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Container } from '@ambit/container';
import { containerMiddleware, withTransaction } from '@ambit/express';
import { afterCommit, runInTransaction } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import express from 'express';

const { DATABASE_URL: connectionString } = process.env;
const check = transactionCheck({ enabled: false });
const pool = check.pool(
  connectionString ? createPostgresPool({ connectionString }) : createSqlitePool({ path: ':memory:' }),
);
const schema = `CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT, visits INTEGER DEFAULT 0);
CREATE TABLE products (id INTEGER PRIMARY KEY, sku TEXT, price INTEGER);
CREATE TABLE stock (product INTEGER PRIMARY KEY, level INTEGER);
CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INTEGER, status TEXT DEFAULT 'new');
CREATE TABLE items (order_id INTEGER, product INTEGER, quantity INTEGER);
CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER);
CREATE TABLE coupons (code TEXT PRIMARY KEY, uses INTEGER);
CREATE INDEX users_email ON users (email);
CREATE INDEX products_sku ON products (sku);
CREATE INDEX orders_buyer ON orders (buyer);
CREATE INDEX items_order ON items (order_id);
INSERT INTO users (id, email) VALUES (1, 'ada@a'), (2, 'bob@b'), (3, 'cy@c'), (4, 'di@d');
INSERT INTO products VALUES (1, 'apple', 3), (2, 'pear', 4), (3, 'fig', 5), (4, 'plum', 6);
INSERT INTO stock VALUES (1, 100), (2, 100), (3, 100), (4, 100);
INSERT INTO accounts VALUES (1, 100), (2, 100), (3, 100), (4, 100);
INSERT INTO coupons VALUES ('ten', 0)`;
for (const table of schema.matchAll(/TABLE (\w+)/g)) await pool.query(`DROP TABLE IF EXISTS ${table[1]}`);
for (const statement of schema.split(';')) await pool.query(statement);

const others = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
await once(others, 'listening');
const other = `http://127.0.0.1:${others.address().port}`;
const cache = connect(others.address().port, '127.0.0.1');
await once(cache, 'connect');
const file = join(tmpdir(), `shop-${process.pid}`);
const notify = () => fetch(`${other}/mails`).then((response) => response.text());
const forUpdate = connectionString ? ' FOR UPDATE' : '';
const list = (count) => Array.from({ length: count }, (_one, i) => `$${i + 1}`).join(', ');

const container = new Container({ tags: ['application'] });
container.register('IDatabasePool', () => pool);
const app = express();
app.use(containerMiddleware(container), express.json());
let orders = 0;

app.get('/users/:id', async (req, res) => {
  const [user] = await pool.query('SELECT * FROM users WHERE id = $1', [req.params.id]);
  const placed = await pool.query('SELECT id, status FROM orders WHERE buyer = $1', [user.id]);
  res.json({ ...user, placed });
});

app.get('/login', async (req, res) => {
  const [user] = await pool.query('SELECT id FROM users WHERE email = $1', [req.query.email]);
  res.json({ known: user !== undefined });
});

app.post('/users', withTransaction(), async (req, res) => {
  const db = req.transactionScope.resolve('IConnection');
  await db.query('INSERT INTO users (id, email) VALUES ($1, $2)', [req.body.id, req.body.email]);
  await db.query('INSERT INTO accounts (id, balance) VALUES ($1, 0)', [req.body.id]);
  res.status(201).json({});
});

app.get('/orders', async (_req, res) => {
  const found = await pool.query('SELECT * FROM orders ORDER BY id');
  const ids = found.map(({ id }) => id);
  const items = await pool.query(`SELECT * FROM items WHERE order_id IN (${list(ids.length)})`, ids);
  res.json({ found, items });
});

app.post('/orders', withTransaction(), async (req, res) => {
  const db = req.transactionScope.resolve('IConnection');
  const { buyer, products } = req.body;
  const id = (orders += 1);
  await db.query(`SELECT level FROM stock WHERE product IN (${list(products.length)})${forUpdate}`, products);
  await db.query(`UPDATE stock SET level = level - 1 WHERE product IN (${list(products.length)})`, products);
  await db.query('INSERT INTO orders (id, buyer) VALUES ($1, $2)', [id, buyer]);
  const values = products.map((product) => `(${id}, ${product}, 1)`).join(', ');
  await db.query(`INSERT INTO items (order_id, product, quantity) VALUES ${values}`);
  await db.query('UPDATE users SET visits = visits + 1 WHERE id = $1', [buyer]);
  afterCommit(req.transactionScope, notify);
  res.status(201).json({ id });
});

app.post('/orders/:id/pay', withTransaction(), async (req, res) => {
  const db = req.transactionScope.resolve('IConnection');
  await db.query("UPDATE orders SET status = 'paid' WHERE id = $1", [req.params.id]);
  await db.query('UPDATE accounts SET balance = balance - 1 WHERE id = $1', [req.body.account]);
  res.json({});
});

app.post('/refunds', withTransaction(), async (req, res) => {
  const db = req.transactionScope.resolve('IConnection');
  const items = await db.query('SELECT product FROM items WHERE order_id = $1', [req.body.order]);
  const products = items.map(({ product }) => product);
  await db.query(`UPDATE stock SET level = level + 1 WHERE product IN (${list(products.length)})`, products);
  await db.query("UPDATE orders SET status = 'refunded' WHERE id = $1", [req.body.order]);
  await db.query('UPDATE accounts SET balance = balance + 1 WHERE id = $1', [req.body.account]);
  res.json({});
});

app.get('/products', async (req, res) => {
  res.json(await pool.query('SELECT * FROM products WHERE sku = $1', [req.query.sku]));
});

app.post('/transfers', async (req, res) => {
  const { from, to } = req.body;
  await runInTransaction(container, async (scope) => {
    const db = scope.resolve('IConnection');
    await db.query(`SELECT id FROM accounts WHERE id IN ($1, $2) ORDER BY id${forUpdate}`, [from, to]);
    await db.query('UPDATE accounts SET balance = balance - 1 WHERE id = $1', [from]);
    await db.query('UPDATE accounts SET balance = balance + 1 WHERE id = $1 AND balance >= 0', [to]);
  });
  await notify();
  res.json({});
});

app.post('/coupons/:code', withTransaction(), async (req, res) => {
  const db = req.transactionScope.resolve('IConnection');
  const [coupon] = await db.query('UPDATE coupons SET uses = uses + 1 WHERE code = $1 RETURNING uses', [
    req.params.code,
  ]);
  await db.query('UPDATE users SET visits = visits + 1 WHERE id = $1', [req.body.user]);
  res.json(coupon);
});

app.get('/sales', async (_req, res) => {
  const sums = await pool.query(
    'SELECT buyer, count(*) AS sold FROM orders JOIN items ON order_id = id WHERE buyer > 0 GROUP BY buyer',
  );
  res.json(sums);
});

const server = app.listen(0);
await once(server, 'listening');
const send = async (method, path, body) => {
  const headers = { 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${server.address().port}${path}`;
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
};

/** In an order of its own each time, as tests that run side by side. */
const shuffled = (all) =>
  all
    .map((one) => [Math.random(), one])
    .toSorted(([one], [two]) => one - two)
    .map(([, one]) => one);
const calls = [
  ...[5, 6, 7].map((id) => () => send('POST', '/users', { id, email: `user ${id}` })),
  () => send('GET', '/login?email=ada@a'),
  ...['apple', 'fig', 'none'].map((sku) => () => send('GET', `/products?sku=${sku}`)),
  ...[1, 2].map((from) => () => send('POST', '/transfers', { from, to: from + 2 })),
  ...[1, 2].map((user) => () => send('POST', '/coupons/ten', { user })),
];
await Promise.all(shuffled(calls).map((call) => call()));
const places = [1, 1, 1, 2, 3].map((buyer) => () => send('POST', '/orders', { buyer, products: [1, 2, 3, 4] }));
await Promise.all(shuffled(places).map((call) => call()));
const later = [
  ...[1, 2].map((id) => () => send('POST', `/orders/${id}/pay`, { account: id })),
  ...[3, 4].map((order) => () => send('POST', '/refunds', { order, account: 3 })),
];
await Promise.all(shuffled(later).map((call) => call()));
await Promise.all([send('GET', '/users/1'), send('GET', '/orders'), send('GET', '/sales')]);

server.close();
server.closeAllConnections();
others.close();
others.closeAllConnections();
cache.destroy();
await rm(file, { force: true });
await container.dispose();
await pool.close();
check.stop();
void [appendFile, createServer, exec, get, promisify, writeFile];
