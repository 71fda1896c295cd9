import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Container, hasTag, Registration, scope, singleton } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { createHandler, drain, type ScopedRequest, withTransaction } from '@ambit/http';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { TenantScopes } from '@ambit/transaction/tenants';
import { afterEach, beforeEach, expect, test } from 'vitest';

const TENANTS = 50;
const CAPACITY = 8;
const REQUESTS = 240;
/** Requests at the same time: more tenants than may be open. */
const CLIENTS = 24;

let folder: string;
let app: Container;
let tenants: TenantScopes<Container>;
let origin: string;
let stop: () => Promise<void>;
/** The pools that are open, and what was seen of them. */
let open: Map<string, IDatabasePool>;
let most: number;
let opened: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-tenants-'));
  open = new Map();
  most = opened = 0;
  app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory((tenant) => openPool(String(tenant)), ['ITenantName'])
      .pipe(singleton(), scope(hasTag('tenant')))
      .to('IDatabasePool'),
  );
  tenants = new TenantScopes(app, {
    capacity: CAPACITY,
    register: async (tenantScope, tenant) => {
      if (!/^t\d+$/.test(tenant)) throw new Error('There is no such tenant');
      tenantScope.register('ITenantName', () => tenant);
      await tenantScope.resolve('IDatabasePool').query('CREATE TABLE IF NOT EXISTS orders (tenant text, request text)');
    },
  });
  const tenantOf = ({ headers }: { headers: ScopedRequest['headers'] }): string => String(headers['x-tenant']);
  const store = withTransaction(async (req, res, inner) => {
    const connection = inner.resolve<IConnection>('IConnection');
    await connection.query('INSERT INTO orders VALUES ($1, $2)', [tenantOf(req), req.url]);
    await new Promise(setImmediate);
    if (req.url?.endsWith('fails')) throw new Error('The handler failed');
    const rows = await connection.query('SELECT DISTINCT tenant FROM orders');
    res.end(JSON.stringify(rows));
  });
  const handler: RequestListener = createHandler((req) => tenants.scopeOf(tenantOf(req)), store, {
    onError: (_error, _req, res) => void res.writeHead(500).end(),
  });
  const server = createServer({ keepAliveTimeout: 0 }, handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = () => drain(server);
});
afterEach(async () => {
  await app.dispose();
  rmSync(folder, { recursive: true });
});

function openPool(tenant: string): IDatabasePool & AsyncDisposable {
  // Two pools of one tenant at a time would be two owners of its file.
  if (open.has(tenant)) throw new Error(`${tenant} is open already`);
  const pool = createSqlitePool({ path: join(folder, `${tenant}.db`) });
  open.set(tenant, pool);
  opened += 1;
  most = Math.max(most, open.size);
  const close = pool.close.bind(pool);
  pool[Symbol.asyncDispose] = async () => {
    await close();
    open.delete(tenant);
  };
  return pool;
}

test('a storm on 50 tenants, of which 8 may be open: no tenant sees another, and nothing is left', async () => {
  const outcomes = { stored: 0, failed: 0, left: 0 };
  const stored = new Map<string, number>();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let request = (next += 1); request <= REQUESTS; request = next += 1) {
      const tenant = `t${(request * 31) % TENANTS}`;
      const fails = request % 11 === 0;
      const leaves = request % 13 === 0;
      const controller = new AbortController();
      const response = fetch(`${origin}/${request}${fails ? '/fails' : ''}`, {
        headers: { 'x-tenant': tenant },
        signal: controller.signal,
      });
      if (leaves) setTimeout(() => controller.abort(), request % 7);
      try {
        const { status, ...body } = await response.then(async (it) => ({ status: it.status, text: await it.text() }));
        if (status !== 200) {
          outcomes.failed += 1;
          if (!fails) throw new Error(`${tenant} got ${status}`);
          continue;
        }
        expect(JSON.parse(body.text)).toEqual([{ tenant }]);
        stored.set(tenant, (stored.get(tenant) ?? 0) + 1);
        outcomes.stored += 1;
      } catch (error) {
        if (!leaves) throw error;
        outcomes.left += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  await stop();

  expect(most).toBe(CAPACITY);
  expect(opened).toBeGreaterThan(TENANTS);
  expect(outcomes.stored).toBeGreaterThan(REQUESTS / 2);
  expect(openScopes(app).every((open_) => open_.tags.includes('tenant'))).toBe(true);
  for (const pool of open.values()) expect(pool.size).toMatchObject({ waiting: 0, open: pool.size?.idle });
  expect(tenants.size).toBe(open.size);
  await app.dispose();
  expect({ pools: open.size, tenants: tenants.size }).toEqual({ pools: 0, tenants: 0 });

  // In the files: each has the rows of its own tenant only, and all that was acknowledged.
  for (const [tenant, acknowledged] of stored) {
    const pool = createSqlitePool({ path: join(folder, `${tenant}.db`) });
    const [row] = await pool.query<{ own: number; others: number }>(
      'SELECT count(*) FILTER (WHERE tenant = $1) AS own, count(*) FILTER (WHERE tenant <> $1) AS others FROM orders',
      [tenant],
    );
    await pool.close();
    expect(row?.others).toBe(0);
    expect(row?.own).toBeGreaterThanOrEqual(acknowledged);
  }
});

test('a request for a tenant that does not exist fails, and keeps no place', async () => {
  for (let request = 0; request < 2 * CAPACITY; request += 1) {
    const response = await fetch(origin, { headers: { 'x-tenant': `nobody-${request}` } });
    expect(response.status).toBe(500);
    await response.text();
  }
  expect(tenants.size).toBe(0);
  await stop();
});
