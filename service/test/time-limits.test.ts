import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { IPooledConnection } from '@ambit/transaction';
import { createConnection } from 'mysql2/promise';
import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, type Service, startService } from '../src/index.js';
import { createPool } from '../src/database/engines.js';
import { type DatabaseKind, mariadb, serverKinds, type TestDatabase } from './support/databases.js';
import { type JsonResponse, request } from './support/http.js';

const USER = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const NOT_NOW = {
  status: 503,
  body: { error: 'Service Unavailable: try again in a moment' },
};

/** A service, and a table of its database that another session has locked. */
async function lockedOut(kind: DatabaseKind, variant: string, env: Record<string, string>, table: string) {
  const database = await kind.open();
  const service = await startService(
    readConfig({ ...database.env, HOST_VARIANT: variant, PORT: '0', LOG_LEVEL: 'silent', ...env }),
  );
  const lock = await (kind === mariadb ? lockInMariadb : lockInPostgres)(database, table);
  return {
    url: service.url,
    unlock: lock.unlock,
    [Symbol.asyncDispose]: async () => {
      await lock.end();
      await service.stop();
      await database.drop();
    },
  };
}

interface Lock {
  unlock(): Promise<unknown>;
  end(): Promise<void>;
}

async function lockInPostgres({ env }: TestDatabase, table: string): Promise<Lock> {
  const pool = createPool(readConfig(env).database);
  const other: IPooledConnection = await pool.getConnection();
  await other.beginTransaction();
  await other.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return {
    unlock: () => other.rollback(),
    end: () => {
      other.release(true);
      return pool.close();
    },
  };
}

/** The pool prepares each statement, and this one cannot be prepared. */
async function lockInMariadb({ env }: TestDatabase, table: string): Promise<Lock> {
  const other = await createConnection({ uri: env['DATABASE_URL']!.replace(/^mariadb:/, 'mysql:') });
  await other.query(`LOCK TABLES ${table} WRITE`);
  return { unlock: () => other.query('UNLOCK TABLES'), end: () => other.end() };
}

async function timed(ask: Promise<JsonResponse<unknown>>): Promise<JsonResponse<unknown> & { ms: number }> {
  const start = performance.now();
  return { ...(await ask), ms: performance.now() - start };
}

describe.each(serverKinds)('with $name', (kind) => {
  describe.skipIf(kind.missing).each(HOST_VARIANTS)('on %s', (variant) => {
    test('QUERY_TIMEOUT_MS limits a statement', async () => {
      await using service = await lockedOut(kind, variant, { QUERY_TIMEOUT_MS: '300' }, 'users');
      const response = await timed(request(service.url, { path: '/api/users' }));
      expect(response).toMatchObject(NOT_NOW);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(response.ms).toBeGreaterThan(290);
      expect(response.ms).toBeLessThan(2500);
    });

    test('ACQUIRE_TIMEOUT_MS limits the wait for a connection', async () => {
      const env = { DATABASE_POOL_SIZE: '1', ACQUIRE_TIMEOUT_MS: '300', QUERY_TIMEOUT_MS: '60000' };
      await using service = await lockedOut(kind, variant, env, 'users');
      const first = request(service.url, { path: '/api/users' });
      const response = await timed(request(service.url, { path: '/api/users' }));
      expect(response).toMatchObject(NOT_NOW);
      expect(response.ms).toBeLessThan(2500);
      await service.unlock();
      expect(await first).toMatchObject({ status: 200 });
    });

    test.each([
      ['an order', '/api/orders', ORDER, {}, 'orders'],
      ['a user with a key', '/api/users', USER, { 'idempotency-key': 'k' }, 'users'],
    ])('TRANSACTION_TIMEOUT_MS limits %s', async (_, path, body, headers, table) => {
      const env = { QUERY_TIMEOUT_MS: '60000', TRANSACTION_TIMEOUT_MS: '300' };
      await using service = await lockedOut(kind, variant, env, table);
      const response = await timed(request(service.url, { method: 'POST', path, body, headers }));
      expect(response).toMatchObject(NOT_NOW);
      expect(response.ms).toBeGreaterThan(290);
      expect(response.ms).toBeLessThan(2500);
    });
  });
});

describe.each(HOST_VARIANTS)('on %s', (HOST_VARIANT) => {
  /** The server of the service, from Node's diagnostics channel for requests. */
  async function serverOf(service: Service): Promise<Server> {
    let found: Server | undefined;
    const onRequest = (message: unknown): void => {
      found = (message as { server: Server }).server;
    };
    subscribe('http.server.request.start', onRequest);
    await request(service.url, { path: '/health/live' });
    unsubscribe('http.server.request.start', onRequest);
    if (!found) throw new Error('No server took the request');
    return found;
  }

  test.each([
    ['a head', 'headersTimeout', 'GET /health/live HTTP/1.1\r\n', 30_000],
    ['a body', 'requestTimeout', 'POST /api/users HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n', 60_000],
  ] as const)(
    '%s that arrives too slowly gets 408 within a second after its limit',
    async (_, limit, start, limitMs) => {
      const env = { HOST_VARIANT, PORT: '0', DATA_DIR: ':memory:', LOG_LEVEL: 'silent' };
      const service = await startService(readConfig(env));
      const server = await serverOf(service);
      expect(server[limit]).toBe(limitMs);
      // The limit for a body is not shorter than the one for a head.
      server.headersTimeout = server.requestTimeout = 100;
      const client = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' });
      await once(client, 'connect');
      const began = performance.now();
      client.write(start);
      expect(await text(client)).toMatch(/^HTTP\/1\.1 408 /);
      expect(performance.now() - began).toBeLessThan(2500);
      await service.stop();
    },
  );
});
