import { randomUUID } from 'node:crypto';
import { lifetimes } from '@ambit/container';
import { override } from '@ambit/container/tools';
import { type Sandbox, sandbox } from '@ambit/transaction/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { createPool } from '../src/database.ts';
import { createContainer, graph } from '../src/graph.ts';
import { migrate } from '../src/migrate.ts';
import { openClient } from './client.ts';

// Its own, because test files run in parallel: where two insert one key into the same database, the second waits for the first.
const product = `pear ${randomUUID()}`;

const { value } = lifetimes('application');
const pool = createPool(readConfig(process.env));
const container = createContainer();
const client = await openClient(container);

let box: Sandbox;
let overridden: Disposable;
beforeAll(() => migrate(pool));
beforeEach(async () => {
  box = await sandbox(pool);
  overridden = override(container, ...graph.replacing({ IDatabasePool: value(box) }));
  await box.query('INSERT INTO stock (product, level) VALUES ($1, 3)', [product]);
});
// Whatever a test has committed is rolled back: the next one begins with the same rows, and so do you.
afterEach(async () => {
  overridden[Symbol.dispose]();
  await box.rollback();
});
afterAll(async () => {
  await client.close();
  await pool.close();
});

const levelOfStock = async () =>
  (await box.query<{ level: number }>('SELECT level FROM stock WHERE product = $1', [product]))[0]?.level;

test('an order is stored and taken from the stock', async () => {
  const placed = await client.post('/orders', { product, quantity: 2 });

  expect(placed).toEqual({ status: 201, body: { id: expect.any(Number), product, quantity: 2 } });
  expect((await client.get('/orders')).body).toContainEqual(placed.body);
  expect(await levelOfStock()).toBe(1);
});

test('an order beyond the stock is rolled back', async () => {
  const refused = await client.post('/orders', { product, quantity: 4 });

  expect(refused.status).toBe(409);
  expect((await client.get('/orders')).body).not.toContainEqual(expect.objectContaining({ product }));
  expect(await levelOfStock()).toBe(3);
});

test('the application is ready while its database responds', async () => {
  expect((await client.get('/health/live')).status).toBe(200);
  expect((await client.get('/health/ready')).status).toBe(200);
  await box.rollback();
  expect((await client.get('/health/live')).status).toBe(200);
  expect((await client.get('/health/ready')).status).toBe(503);
});

test('an order that is incomplete is refused', async () => {
  expect((await client.post('/orders', { product })).status).toBe(400);
});

test('a body that is too large is refused', async () => {
  expect((await client.post('/orders', { product: 'x'.repeat(2_000_000), quantity: 1 })).status).toBe(413);
});

test('an unexpected error tells the client nothing of itself', async () => {
  await box.rollback();

  const failed = await client.get('/orders');

  expect(failed.status).toBe(503);
  expect(failed.body).toMatchObject({
    error: expect.stringMatching(/^(Try again later|The request could not be processed)$/),
  });
});
