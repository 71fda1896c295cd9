import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { App } from './support/app.js';
import { postgres, type TestDatabase } from './support/databases.js';

const PAGE = new URL('../../docs/service/scaling.md', import.meta.url);
const DAY_MS = 86_400_000;
const ORDER = { items: [{ productId: 'apple', quantity: 2 }] };
const ADA = { name: 'Ada', email: 'ada@example.org' };
const PARTITIONED = ['orders', 'order_items', 'reservations', 'idempotency_keys'];

describe.skipIf(postgres.missing)('the tables, partitioned as docs/service/scaling.md says', () => {
  let database: TestDatabase;
  let app: App;

  beforeAll(async () => {
    database = await postgres.open();
    app = await App.start('fastify', database.env);
    await order('stored before');
    for (const statement of statementsOfPage()) await app.pool.query(statement);
  });
  afterAll(async () => {
    await app.stop();
    await database.drop();
  });

  const order = (key: string) =>
    app.request<{ id: string }>({
      method: 'POST',
      path: '/api/orders',
      body: ORDER,
      headers: { 'idempotency-key': key.replaceAll(' ', '-') },
    });
  const rowsIn = (table: string) =>
    app.pool.query(`SELECT DISTINCT CAST(tableoid AS regclass)::text AS partition FROM ${table} ORDER BY 1`);

  test.each(PARTITIONED)('%s has partitions', async (table) => {
    const [{ kind } = {}] = await app.pool.query<{ kind?: string }>(
      'SELECT relkind AS kind FROM pg_class WHERE oid = CAST($1 AS regclass)',
      [table],
    );
    expect(kind).toBe('p');
  });

  test('take orders and replay them, those of before too', async () => {
    const first = await order('new');
    const again = await order('new');
    expect(first.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const before = await order('stored before');
    expect(before.headers.get('idempotency-replayed')).toBe('true');
  });

  test('keep rows of before in the first partition, and get new ones in that of their month', async () => {
    await order('one more');
    for (const table of ['orders', 'order_items', 'reservations'])
      expect(await rowsIn(table)).toEqual([{ partition: `${table}_2027_01` }, { partition: `${table}_until_2027` }]);
  });

  test('lose expired keys, in whichever partition they are', async () => {
    await app.request({ method: 'POST', path: '/api/users', body: ADA, headers: { 'idempotency-key': 'ada' } });
    await app.pool.query('UPDATE idempotency_keys SET created_at = created_at - $1::bigint', [DAY_MS]);
    await app.container.resolve('IIdempotency').removeExpired();
    expect(await app.pool.query('SELECT key FROM idempotency_keys')).toEqual([]);
  });
});

/** The statements of the page, and those that it describes as the same; its months are to come, so that of January begins now. */
function statementsOfPage(): string[] {
  const [byTime = '', byHash = ''] = [...readFileSync(PAGE, 'utf8').matchAll(/^```sql\n(.*?)^```/gms)].map(
    ([, sql]) => sql!,
  );
  const ofOrders = byTime.slice(byTime.indexOf('ALTER TABLE orders RENAME'));
  const alike = (table: string, column: string, key: string): string =>
    ofOrders
      .replaceAll('orders', table)
      .replace('PRIMARY KEY (id)', `PRIMARY KEY (${key})`)
      .replace('(id)', `(${column})`);
  const keys = byHash.replace(/^(.*)REMAINDER 0\);\n-- and so .*$/m, (_, line: string) =>
    [0, 1, 2, 3].map((n) => `${line.replace('_0 ', `_${n} `)}REMAINDER ${n});`).join('\n'),
  );
  const now = Date.now();
  const iso = (ms: number): string => new Date(ms).toISOString();
  return [
    byTime,
    alike('order_items', 'order_id', 'order_id, position'),
    'ALTER TABLE order_items ADD FOREIGN KEY (order_id) REFERENCES orders (id);\n',
    alike('reservations', 'request_id', 'request_id, product_id'),
    keys,
  ]
    .join('\n')
    .replaceAll('2027-01-01', iso(now))
    .replaceAll('2027-02-01', iso(now + DAY_MS))
    .split(/;\n/)
    .filter((statement) => statement.trim() !== '');
}
