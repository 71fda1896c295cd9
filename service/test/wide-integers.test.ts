import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { App } from './support/app.js';
import { postgres } from './support/databases.js';

const WIDE = [
  'ALTER TABLE idempotency_keys ALTER COLUMN status TYPE bigint',
  'ALTER TABLE order_items ALTER COLUMN position TYPE bigint, ALTER COLUMN quantity TYPE bigint',
  'ALTER TABLE stock ALTER COLUMN level TYPE bigint',
];

/** On some engines INTEGER has 64 bits, which the driver gives as text. */
describe.skipIf(postgres.missing).each(HOST_VARIANTS)('where INTEGER has 64 bits, on %s', (variant) => {
  test.each([
    ['/api/users', { name: 'Ada', email: 'ada@example.org' }],
    ['/api/orders', { items: [{ productId: 'apple', quantity: 2 }] }],
  ])('a response of %s is replayed', async (path, body) => {
    await using database = await postgres.open();
    await using app = await App.start(variant, database.env);
    for (const sql of WIDE) await app.pool.query(sql);
    await app.pool.query(`INSERT INTO stock (product_id, level) VALUES ('apple', 10)`);
    const post = (key: string, content: object = body) =>
      app.request({ method: 'POST', path, body: content, headers: { 'idempotency-key': key } });
    const first = await post('a-key');
    expect(first.status).toBe(201);
    expect(await post('a-key')).toMatchObject({ status: 201, body: first.body });
  });
});
