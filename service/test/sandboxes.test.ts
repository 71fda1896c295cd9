import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, startService } from '../src/index.js';
import { postgres, sqlite } from './support/databases.js';
import { request } from './support/http.js';

const ADA = { name: 'Ada', email: 'ada@example.com' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const TABLES = ['users', 'orders', 'order_items', 'stock', 'reservations', 'idempotency_keys'];

// Isolation and undoing are tested in packages/transaction/test/sandboxes.test.ts.
test.skipIf(postgres.missing).each(HOST_VARIANTS)(
  'SANDBOX=1 on %s gives each sandbox users, orders and keys of its own, and stores none',
  async (HOST_VARIANT) => {
    await using database = await postgres.open();
    const env = { HOST_VARIANT, PORT: '0', SANDBOX: '1', LOG_LEVEL: 'silent', ...database.env };
    const service = await startService(readConfig(env));
    const { url, container } = service;
    const open = async (): Promise<string> => {
      const { status, body } = await request<{ id: string }>(url, { method: 'POST', path: '/sandboxes' });
      expect(status).toBe(201);
      return body.id;
    };
    const inSandbox = (id: string | undefined, key?: string) => {
      const headers = { ...(id && { 'x-ambit-sandbox': id }), ...(key && { 'idempotency-key': key }) };
      return {
        create: () => request(url, { method: 'POST', path: '/api/users', body: ADA, headers }),
        order: () => request(url, { method: 'POST', path: '/api/orders', body: ORDER, headers }),
        list: async () => (await request<unknown[]>(url, { path: '/api/users', headers })).body.length,
      };
    };
    const ids = [await open(), await open()];
    const [key, scope] = [randomUUID(), container.createScope({ tags: ['request'] })];
    scope.resolve('IIdempotency').lock(scope, { key, caller: undefined, endpoint: 'POST /api/orders', input: null });
    expect(await inSandbox(undefined, key).order()).toMatchObject({ status: 409 });
    // Two open transactions cannot store one key.
    for (const [index, id] of ids.entries()) {
      expect(await inSandbox(id).create()).toMatchObject({ status: 201 });
      expect(await inSandbox(id, index === 0 ? key : undefined).order()).toMatchObject({ status: 201 });
    }
    expect(await Promise.all([...ids, undefined].map((id) => inSandbox(id).list()))).toEqual([1, 1, 0]);
    await scope.dispose();

    const refusal = { status: 400, body: { error: expect.stringMatching(/ no open sandbox\b/) } };
    for (const id of ids) {
      const release = { method: 'DELETE', path: `/sandboxes/${id}` };
      expect((await request(url, release)).status).toBe(200);
      expect(await inSandbox(id).create()).toMatchObject(refusal);
      expect((await request(url, release)).status).toBe(400);
    }
    const pool = container.resolve('IDatabasePool');
    for (const table of TABLES) expect(await pool.query(`SELECT 1 FROM ${table}`)).toEqual([]);
    await service.stop();
  },
);

test.each(HOST_VARIANTS)('nothing about sandboxes exists on %s without SANDBOX=1', async (HOST_VARIANT) => {
  await using database = await sqlite.open();
  const service = await startService(readConfig({ HOST_VARIANT, PORT: '0', LOG_LEVEL: 'silent', ...database.env }));
  expect(await request(service.url, { method: 'POST', path: '/sandboxes' })).toMatchObject({ status: 404 });
  const headers = { 'x-ambit-sandbox': randomUUID() };
  expect(await request(service.url, { path: '/api/users', headers })).toMatchObject({ status: 200 });
  await service.stop();
});
