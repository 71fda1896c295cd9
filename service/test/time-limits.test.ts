import type { IPooledConnection } from '@ambit/transaction';
import { createConnection } from 'mysql2/promise';
import { describe, expect, test } from 'vitest';
import { readConfig, startService } from '../src/index.js';
import { engineOf } from '../src/database/engines.js';
import { type DatabaseKind, mariadb, serverKinds, type TestDatabase } from './support/databases.js';
import { request } from './support/http.js';

const USER = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const NOT_NOW = {
  status: 503,
  body: { error: 'Service Unavailable: try again in a moment' },
};

/** A service, and a table of its database that another session has locked. */
async function lockedOut(kind: DatabaseKind, env: Record<string, string>, table: string) {
  const database = await kind.open();
  const service = await startService(readConfig({ ...database.env, PORT: '0', LOG_LEVEL: 'silent', ...env }));
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
  const pool = engineOf(readConfig(env).database).createPool();
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

describe.each(serverKinds)('with $name', (kind) => {
  describe.skipIf(kind.missing)('on Fastify', () => {
    test('QUERY_TIMEOUT_MS limits a statement', async () => {
      await using service = await lockedOut(kind, { QUERY_TIMEOUT_MS: '2000' }, 'users');
      const response = await request(service.url, { path: '/api/users' });
      expect(response).toMatchObject(NOT_NOW);
      expect(response.headers.get('retry-after')).toBe('1');
    });

    test('ACQUIRE_TIMEOUT_MS limits the wait for a connection', async () => {
      const env = { DATABASE_POOL_SIZE: '1', ACQUIRE_TIMEOUT_MS: '2000', QUERY_TIMEOUT_MS: '60000' };
      await using service = await lockedOut(kind, env, 'users');
      const first = request(service.url, { path: '/api/users' });
      const response = await request(service.url, { path: '/api/users' });
      expect(response).toMatchObject(NOT_NOW);
      await service.unlock();
      expect(await first).toMatchObject({ status: 200 });
    });

    test.each([
      ['an order', '/api/orders', ORDER, {}, 'orders'],
      ['a user with a key', '/api/users', USER, { 'idempotency-key': 'k' }, 'users'],
    ])('TRANSACTION_TIMEOUT_MS limits %s', async (_, path, body, headers, table) => {
      const env = { QUERY_TIMEOUT_MS: '60000', TRANSACTION_TIMEOUT_MS: '2000' };
      await using service = await lockedOut(kind, env, table);
      const response = await request(service.url, { method: 'POST', path, body, headers });
      expect(response).toMatchObject(NOT_NOW);
    });
  });
});
