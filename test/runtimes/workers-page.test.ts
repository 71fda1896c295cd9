import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundled, type Served, serveWorker } from './workerd.js';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/guides/workers.md'), 'utf8');
const PROGRAM = /```ts\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? '';
const SHARED = PROGRAM.replace("make('request'", "make('application'");

/** A Durable Object keeps one context, and with it the sockets, for all its requests. */
const IN_AN_OBJECT = SHARED.replace(
  /let handler[^]*/,
  `export class Shop {
    readonly handler: ReturnType<typeof application>;
    constructor(_state: object, env: Env) { this.handler = application(env); }
    fetch(request: Request) { return this.handler(request); }
  }
  export default { fetch: (request: Request, { SHOP }) => SHOP.get(SHOP.idFromName('a')).fetch(request) };`,
);

const ON_ITS_SQLITE = IN_AN_OBJECT.replace('createPostgresPool } from', 'fromDurableObject } from')
  .replace('@ambit/transaction/postgres', '@ambit/drivers/durable-object')
  .replace('createPostgresPool({ connectionString, max: 1 })', 'fromDurableObject(storage)')
  .replace('{ HYPERDRIVE: { connectionString } }: Env', 'storage')
  .replace(
    /constructor[^]*?application\(env\); }/,
    `constructor({ storage }) {
      storage.sql.exec('CREATE TABLE IF NOT EXISTS orders (product TEXT NOT NULL)');
      const handler = application(storage);
      const count = () => Response.json(storage.sql.exec('SELECT count(*) AS n FROM orders').one().n);
      this.handler = async (request) => (request.method === 'GET' ? count() : handler(request));
    }`,
  );
const ON_D1 = PROGRAM.replace('createPostgresPool({ connectionString, max: 1 })', 'DB').replace(
  '{ HYPERDRIVE: { connectionString } }',
  '{ DB }',
);

const schema = `ambit_page_${process.pid}`;
const address = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');
const admin = new Client({ connectionString: address.href });
const served: Served[] = [];

/** Hyperdrive passes on no options of a connection, so a role of the same name has the schema in its search path. */
async function serve(program: string, options: object = {}): Promise<Served> {
  const worker = await serveWorker(await bundled({ text: program }), {
    hyperdrives: { HYPERDRIVE: address.href.replace('//postgres@', `//${schema}:edge@`) },
    ...options,
  });
  served.push(worker);
  return worker;
}

const order = (worker: Served, body: object = { product: 'apple' }): Promise<Response> =>
  fetch(`http://127.0.0.1:${worker.port}/`, { method: 'POST', body: JSON.stringify(body) });

const count = async (sql: string): Promise<number> =>
  Number((await admin.query(`SELECT count(*) AS n FROM ${sql}`)).rows[0].n);

beforeAll(async () => {
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  await admin.query(`CREATE ROLE ${schema} LOGIN PASSWORD 'edge'`);
  await admin.query(`ALTER ROLE ${schema} SET search_path = ${schema}`);
  await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO ${schema}`);
  await admin.query(`CREATE TABLE ${schema}.orders (product text NOT NULL)`);
  await admin.query(`GRANT ALL ON ${schema}.orders TO ${schema}`);
});
afterAll(async () => {
  for (const worker of served) await worker.close();
  await admin.query(`DROP SCHEMA ${schema} CASCADE`);
  await admin.query(`DROP ROLE ${schema}`);
  await admin.end();
});

test('the program of the page stores what it responds to, request after request, and keeps no connection', async () => {
  const worker = await serve(PROGRAM);
  const statuses: number[] = [];
  for (let i = 0; i < 15; i++) statuses.push((await order(worker)).status);
  expect(statuses).toEqual(Array.from({ length: 15 }, () => 201));
  expect((await order(worker, {})).status).toBe(500);
  expect(await count(`${schema}.orders`)).toBe(15);
  await expect.poll(() => count(`pg_stat_activity WHERE usename = '${schema}'`)).toBe(0);
});

test('a storm of clients that leave at any moment leaves no connection, and the next order is stored', async () => {
  const worker = await serve(PROGRAM);
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      await pause(i * 10);
      const client = connect(worker.port, '127.0.0.1');
      client.on('error', () => undefined);
      client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 18\r\n\r\n{"product":"pear"}');
      await pause(i % 30);
      client.resetAndDestroy();
    }),
  );
  await expect.poll(() => count(`pg_stat_activity WHERE usename = '${schema}'`)).toBe(0);
  expect((await order(worker)).status).toBe(201);
});

test('a pool of the application is refused at the first request, with the line that it should be', async () => {
  const worker = await serve(SHARED);
  expect((await order(worker)).status).toBe(500);
  await expect
    .poll(() => worker.log)
    .toContain("IDatabasePool: make('request', () => createPostgresPool({ connectionString, max: 1 }))");
});

test('in a Durable Object a pool of the application serves one request after another', async () => {
  const worker = await serve(IN_AN_OBJECT, { durableObjects: { SHOP: 'Shop' } });
  const before = await count(`${schema}.orders`);
  for (let i = 0; i < 5; i++) expect((await order(worker)).status).toBe(201);
  expect(await count(`${schema}.orders`)).toBe(before + 5);
});

test('over the SQLite of a Durable Object, orders that come at once are stored or rolled back, each by itself', async () => {
  const worker = await serve(ON_ITS_SQLITE, { durableObjects: { SHOP: { className: 'Shop', useSQLite: true } } });
  const bodies = Array.from({ length: 20 }, (_, i) => (i % 4 === 0 ? {} : { product: 'apple' }));
  const statuses = await Promise.all(bodies.map(async (body) => (await order(worker, body)).status));
  expect(statuses).toEqual(bodies.map(({ product }) => (product ? 201 : 500)));
  expect(await (await fetch(`http://127.0.0.1:${worker.port}/`)).json()).toBe(15);
});

test('D1 is refused at the first transaction, with the reason', async () => {
  const worker = await serve(ON_D1, { d1Databases: { DB: 'shop' } });
  expect((await order(worker)).status).toBe(500);
  await expect.poll(() => worker.log).toMatch(/'IDatabasePool' has no getConnection\(\): D1 .*AMBIT_TX_UNSUPPORTED/);
});
