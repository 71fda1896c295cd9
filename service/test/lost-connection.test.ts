import { createPool } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { createConnection } from 'mysql2/promise';
import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { mariadb, serverKinds, type TestDatabase } from './support/databases.js';
import { request } from './support/http.js';
import type { LogRecord } from './support/log-book.js';
import { ServiceProcess } from './support/service-process.js';

const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const USER = { name: 'Ada', email: 'ada@example.org' };

const TABLES = ['users', 'orders'];

async function loseInPostgres({ env }: TestDatabase): Promise<void> {
  await using pool = createPool(readConfig(env).database);
  await pool.query(
    `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`,
  );
  for (const table of TABLES) await pool.query(`CREATE TRIGGER lose BEFORE INSERT ON ${table} EXECUTE FUNCTION lose()`);
}

/** The pool prepares each statement, and this one cannot be prepared. */
async function loseInMariadb({ env }: TestDatabase): Promise<void> {
  const connection = await createConnection({ uri: env['DATABASE_URL']!.replace(/^mariadb:/, 'mysql:') });
  for (const table of TABLES)
    await connection.query(`CREATE TRIGGER lose_${table} BEFORE INSERT ON ${table} FOR EACH ROW KILL CONNECTION_ID()`);
  await connection.end();
}

describe.each(serverKinds)('with $name', (kind) => {
  test.skipIf(kind.missing).each(HOST_VARIANTS)(
    'a connection lost within a request is one error line in the log, on %s',
    async (HOST_VARIANT) => {
      await using database = await kind.open();
      await using service = new ServiceProcess({ ...database.env, HOST_VARIANT });
      const url = await service.url();
      await (kind === mariadb ? loseInMariadb : loseInPostgres)(database);
      const asked = [
        { path: '/api/orders', body: ORDER },
        { path: '/api/orders', body: ORDER, headers: { 'idempotency-key': 'order' } },
        { path: '/api/users', body: USER, headers: { 'idempotency-key': 'user' } },
        { path: '/api/users', body: USER },
      ];
      const ids: (string | null)[] = [];
      for (const one of asked) {
        const response = await request(url, { method: 'POST', ...one });
        expect(response.status).toBe(503);
        ids.push(response.headers.get('x-request-id'));
      }
      service.kill('SIGTERM');
      const { output } = await service.exit;
      const records = output
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as LogRecord);
      const errors = records.filter(({ level }) => Number(level) >= 40);
      expect(errors.map(({ msg, requestId }) => [msg, requestId])).toEqual(ids.map((id) => ['request failed', id]));
    },
  );
});
