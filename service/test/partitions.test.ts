import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { App } from './support/app.js';
import { postgres, type TestDatabase } from './support/databases.js';

const PAGE = new URL('../../docs/service/scaling.md', import.meta.url);
const DAY_MS = 86_400_000;
const ORDER = { items: [{ productId: 'apple', quantity: 2 }] };
const ADA = { name: 'Ada', email: 'ada@example.org' };
const PARTITIONED = ['orders', 'order_items', 'reservations', 'idempotency_keys'];

describe.skipIf(postgres.missing)('the tables, partitioned as docs/service/scaling.md says', () => {
  let database: TestDatabase;
  const apps: App[] = [];

  beforeAll(async () => {
    database = await postgres.open();
    for (const variant of HOST_VARIANTS) apps.push(await App.start(variant, database.env));
    await order(apps[0]!, 'stored before');
    for (const statement of statementsOfPage()) await apps[0]!.pool.query(statement);
  });
  afterAll(async () => {
    for (const app of apps) await app.stop();
    await database.drop();
  });

  const order = (app: App, key: string) =>
    app.request<{ id: string }>({
      method: 'POST',
      path: '/api/orders',
      body: ORDER,
      headers: { 'idempotency-key': key.replaceAll(' ', '-') },
    });
  const rowsIn = (table: string) =>
    apps[0]!.pool.query(`SELECT DISTINCT CAST(tableoid AS regclass)::text AS partition FROM ${table} ORDER BY 1`);

  test.each(PARTITIONED)('%s has partitions', async (table) => {
    const [{ kind } = {}] = await apps[0]!.pool.query<{ kind?: string }>(
      'SELECT relkind AS kind FROM pg_class WHERE oid = CAST($1 AS regclass)',
      [table],
    );
    expect(kind).toBe('p');
  });

  test.each(HOST_VARIANTS)('take orders and replay them on %s, those of before too', async (variant) => {
    const app = apps[HOST_VARIANTS.indexOf(variant)]!;
    const first = await order(app, variant);
    const again = await order(app, variant);
    expect(first.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const before = await order(app, 'stored before');
    expect(before.headers.get('idempotency-replayed')).toBe('true');
  });

  test('keep rows of before in the first partition, and get new ones in that of their month', async () => {
    await order(apps[0]!, 'one more');
    for (const table of ['orders', 'order_items', 'reservations'])
      expect(await rowsIn(table)).toEqual([{ partition: `${table}_2027_01` }, { partition: `${table}_until_2027` }]);
  });

  test('lose expired keys, in whichever partition they are', async () => {
    const [app] = apps as [App];
    await app.request({ method: 'POST', path: '/api/users', body: ADA, headers: { 'idempotency-key': 'ada' } });
    await app.pool.query('UPDATE idempotency_keys SET created_at = created_at - $1::bigint', [DAY_MS]);
    await app.container.resolve('IIdempotency').removeExpired();
    expect(await app.pool.query('SELECT key FROM idempotency_keys')).toEqual([]);
  });
});

/** The page's dates are in months to come: here the partition of January begins now. */
function statementsOfPage(): string[] {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql]) => sql!);
  const now = Date.now();
  const iso = (ms: number): string => new Date(ms).toISOString();
  return blocks
    .join('\n')
    .replaceAll('2027-01-01', iso(now))
    .replaceAll('2027-02-01', iso(now + DAY_MS))
    .split(/;\n/)
    .filter((statement) => statement.trim() !== '');
}
