import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Container } from '@ambit/container';
import { record } from '@ambit/replay';
import { replay } from '@ambit/replay/testing';
import type { Call, Reply, RunningHost } from '@ambit/testing/hosts';
import { type DatabasePool, type IConnection, runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { everyHost } from './adapters/every.js';

interface Product {
  readonly price: number;
  readonly discount: { readonly percent: number } | null;
}

/** The discount of one product is NULL in production, which nobody expected. */
async function order(call: Call, percentOf: (product: Product) => number): Promise<Reply> {
  const { product } = call.body as { product: string };
  const { total, id } = await runInTransaction(call.scope, async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    const [row] = await connection.query<{ price: number; discount: string | null }>(
      'SELECT price, discount FROM products WHERE name = $1',
      [product],
    );
    const created = crypto.randomUUID();
    await connection.query('INSERT INTO orders (id, product, at) VALUES ($1, $2, $3)', [created, product, new Date()]);
    const discount = JSON.parse(row?.discount ?? 'null') as Product['discount'];
    const price = row?.price ?? 0;
    return { id: created, total: (price * (100 - percentOf({ price, discount }))) / 100 };
  });
  return { kind: 'json', status: 201, body: { id, total } };
}

const careless = ({ discount }: Product): number => (discount as { percent: number }).percent; // careless
const careful = ({ discount }: Product): number => discount?.percent ?? 0;

describe.each(everyHost)('a request on $name that fails because of a NULL in the database', (host) => {
  let folder: string;
  const running: RunningHost[] = [];

  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'replay-')), 'recordings');
  });
  afterEach(async () => {
    for (const one of running.splice(0)) await one.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function serve(pool: DatabasePool, percentOf: (product: Product) => number) {
    const container = new Container({ tags: ['application'] });
    container.register('IDatabasePool', () => pool);
    const app = await host.start({
      container,
      routes: [{ method: 'POST', path: '/orders', handle: (call) => order(call, percentOf) }],
      onDisposeError: (error) => expect.unreachable(String(error)),
      onError: () => undefined,
    });
    running.push(app);
    return {
      container,
      app,
      server: { listening: true, listen: () => undefined, address: () => app } as unknown as Server,
    };
  }

  async function recorded(): Promise<string> {
    const pool = createSqlitePool({ path: ':memory:' });
    await pool.query('CREATE TABLE products (name TEXT, price INTEGER, discount TEXT)');
    await pool.query('CREATE TABLE orders (id TEXT, product TEXT, at TEXT)');
    await pool.query("INSERT INTO products VALUES ('tea', 5, '{\"percent\": 20}'), ('salt', 2, NULL)");
    const { container, app } = await serve(pool, careless);
    using recorder = record(container, { folder });
    const post = (product: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${app.port}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ product }),
      });
    expect((await post('tea')).status).toBe(201);
    expect((await post('salt')).status).toBe(500);
    await expect.poll(() => recorder.kept).toBe(1);
    const [name = ''] = await readdir(folder);
    expect(name).toMatch(/^POST-orders-[\da-f]{6}\.json$/);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    return join(folder, name);
  }

  it('fails again without the database, and passes when it is corrected', async () => {
    const file = await recorded();
    const empty = createSqlitePool({ path: ':memory:' });
    const again = await replay((await serve(empty, careless)).server, file);
    expect(again.divergence).toBeUndefined();
    expect([again.status, again.recording.outcome.status]).toEqual([500, 500]);
    expect(again.error).toMatchObject({ name: 'TypeError', message: expect.stringContaining('percent') as string });
    expect(again.error).toEqual(again.recording.outcome.error);
    expect(again.failure).toMatch(/^500: TypeError: Cannot read .*'percent'\), at test\/hosts\/replay\.test\.ts:\d+$/);
    const corrected = await replay((await serve(empty, careful)).server, file);
    expect(corrected).toMatchObject({
      status: 201,
      failure: undefined,
      error: undefined,
      divergence: undefined,
      beyond: ['COMMIT'],
    });
    expect(corrected.body).toMatchObject({ total: 2 });
  });
});
