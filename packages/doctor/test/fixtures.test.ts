import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hasPostgres, openSchema, type PostgresSchema } from '@ambit/test-kit';
import { Pool, type PoolClient } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../src/run.js';
import { createApp as createRightNested } from './fixtures/nested-right.js';
import { createApp as createWrongNested } from './fixtures/nested-wrong.js';
import { createApp as createRightUploads } from './fixtures/uploads/right/app.js';
import { createApp as createWrongUploads } from './fixtures/uploads/wrong/app.js';

/** The reports of the command on a program: it gets the folder or the file of it and nothing else. */
function reportsOf(program: string): string[] {
  const printed: string[] = [];
  run([join(import.meta.dirname, 'fixtures', program), '--json'], (text) => void printed.push(text), console.error);
  const { reports } = JSON.parse(printed.join('')) as { reports: { file: string; line: number; rule: string }[] };
  return reports.map(({ file, line, rule }) => `${file.split('/').slice(-2).join('/')}:${line} ${rule}`);
}

const servers: ReturnType<typeof createServer>[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0);
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.skipIf(!hasPostgres)('with PostgreSQL', () => {
  let schema: PostgresSchema;
  let pool: Pool;
  const clients: PoolClient[] = [];

  beforeEach(async () => {
    schema = await openSchema();
    pool = new Pool({ connectionString: schema.url(), max: 5 });
    pool.on('connect', (client) => void clients.push(client));
    await schema.admin.query(`
      CREATE TABLE users (name text PRIMARY KEY, picture text);
      CREATE TABLE pictures (name text, picture text);
      CREATE TABLE products (name text PRIMARY KEY, stock int CHECK (stock >= 0));
      CREATE TABLE orders (product text);
      CREATE TABLE audit (entry text);
      INSERT INTO users (name) SELECT 'user' || n FROM generate_series(0, 19) n;
      INSERT INTO products VALUES ('apple', 0);
    `);
  });
  afterEach(async () => {
    // A program that loses connections never returns them, and `pool.end()` would wait for them.
    await Promise.all(clients.splice(0).map((client) => Reflect.apply(Reflect.get(client, 'end'), client, [])));
    await schema.drop();
  });

  describe('a singleton that keeps the current transaction', () => {
    const upload = (url: string, user: number, signal?: AbortSignal) =>
      fetch(`${url}/pictures/user${user}`, {
        method: 'PUT',
        body: 'png',
        headers: { 'content-type': 'text/plain' },
        ...(signal ? { signal } : {}),
      });
    const logIn = async (url: string) => (await fetch(`${url}/login/user0`, { method: 'POST' })).status;

    it('fails each login after the first upload', async () => {
      const url = await serve(createWrongUploads(pool));
      expect(await logIn(url)).toBe(200);
      expect((await upload(url, 0)).status).toBe(201);
      expect([await logIn(url), await logIn(url)]).toEqual([500, 500]);
    });

    it('hangs with 20 uploads at the same time', async () => {
      const url = await serve(createWrongUploads(pool));
      const hung = new AbortController();
      const uploads = Promise.allSettled(Array.from({ length: 20 }, (_, user) => upload(url, user, hung.signal)));
      expect(await Promise.race([uploads, delay(3_000, 'hangs')])).toBe('hangs');
      hung.abort();
      await uploads;
    });

    it('does neither once the transaction is passed on', async () => {
      const url = await serve(createRightUploads(pool));
      const uploads = await Promise.all(Array.from({ length: 20 }, (_, user) => upload(url, user)));
      expect(uploads.map(({ status }) => status)).toEqual(Array(20).fill(201));
      expect(await logIn(url)).toBe(200);
    });
  });

  describe('a nested transaction that empties the connection of the outer one', () => {
    const order = async (url: string) => (await fetch(`${url}/orders/apple`, { method: 'POST' })).status;
    const orders = async () => (await schema.admin.query('SELECT * FROM orders')).rowCount;

    it('leaves a row of the request that failed', async () => {
      expect(await order(await serve(createWrongNested(pool)))).toBe(409);
      expect(await orders()).toBe(1);
    });

    it('leaves none once it sets back what was there', async () => {
      expect(await order(await serve(createRightNested(pool)))).toBe(409);
      expect(await orders()).toBe(0);
    });
  });
});

it.each([
  ['uploads/wrong', ['wrong/database.ts:16 no-shared-transaction']],
  ['uploads/right', []],
  ['nested-wrong.ts', ['fixtures/nested-wrong.ts:31 restore-outer-transaction']],
  ['nested-right.ts', []],
])('finds what is wrong with %s, and nothing else', (program, expected) => {
  expect(reportsOf(program)).toEqual(expected);
});
