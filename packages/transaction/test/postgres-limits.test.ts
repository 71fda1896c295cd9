import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type IDatabasePool, isTemporary, type TransactionError } from '../src/index.js';
import { createPostgresPool } from '../src/postgres/index.js';
import { hasPostgres, postgresUrl } from '@ambit/test-kit';
import { openPostgres, openProxyToPostgres, type PostgresDatabase } from './support/databases.js';

describe.skipIf(!hasPostgres)('a pool whose server allows fewer connections than the pool', () => {
  const role = `ambit_few_${process.pid}`;
  let database: PostgresDatabase;

  beforeEach(async () => {
    database = await openPostgres();
    await database.admin.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 2`);
  });
  afterEach(async () => {
    await database.admin.query(`DROP ROLE ${role}`);
    await database.drop();
  });
  const poolOf = (port?: number): IDatabasePool => {
    const url = new URL(database.url(port));
    url.username = role;
    return database.pool({ connectionString: url.href, max: 20, acquireTimeoutMs: 50_000 });
  };

  test('waits for one of those it has, and serves all, without trying again for each', async () => {
    const proxy = await openProxyToPostgres();
    let tries = 0;
    proxy.faultAt = (message) => {
      if (message.includes(`user\0${role}`)) tries += 1;
      return 'none';
    };
    const pool = poolOf(proxy.port);
    const start = performance.now();
    const all = Array.from({ length: 60 }, (_, n) => pool.query('SELECT $1::int AS n, pg_sleep(0.002)', [n]));
    const served = await Promise.allSettled(all);
    expect(served.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(pool.size).toMatchObject({ open: 2, idle: 2, waiting: 0 });
    // Once for each place, then once a quarter of a second.
    expect(tries).toBeLessThanOrEqual(20 + (performance.now() - start) / 250);
    await pool.close();
  });

  test('waits until its own limit, and says what it waited for', async () => {
    const pool = poolOf();
    const held = [await pool.getConnection(), await pool.getConnection()];
    await expect(pool.getConnection({ timeoutMs: 3000 })).rejects.toMatchObject({
      code: 'AMBIT_TX_ACQUIRE_TIMEOUT',
      sqlState: '53300',
      status: 503,
    });
    held.forEach((connection) => connection.release());
    await expect(pool.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await pool.close();
  });

  test('goes on when one of those it has is closed instead of returned', async () => {
    const pool = poolOf();
    const [first, second] = [await pool.getConnection(), await pool.getConnection()];
    const third = pool.getConnection();
    const fourth = pool.getConnection();
    await expect(Promise.race([third, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))])).resolves.toBe(
      'waits',
    );
    const served = [third, fourth].map(async (connecting) => (await connecting).release(true));
    first.release(true);
    // A pool that holds no connection fails at once while the server still ends those that it closed.
    await Promise.all(served);
    second.release();
    await pool.close();
  });

  test('serves or refuses everyone while connections are killed, and keeps no place', async () => {
    const pool = poolOf();
    const storm = { running: 400 };
    const served = Array.from({ length: 400 }, async (_, n) => {
      try {
        await pool.query('SELECT $1::int AS n, pg_sleep(0.001)', [n]);
        return 'served';
      } catch (error) {
        return (error as TransactionError).unavailable ? 'refused' : error;
      } finally {
        storm.running -= 1;
      }
    });
    const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}' ORDER BY random() LIMIT 1`;
    while (storm.running > 0) await database.admin.query(kill);
    const outcomes = new Set(await Promise.all(served));
    expect(outcomes).toContain('served');
    expect([...outcomes].filter((outcome) => outcome !== 'served' && outcome !== 'refused')).toEqual([]);
    // The last kill may still meet the next connection that is used.
    await vi.waitFor(async () => expect(await pool.query('SELECT 1 AS one')).toEqual([{ one: 1 }]), 120_000);
    // What is still being tried for nobody fails soon.
    await vi.waitFor(() => expect(pool.size?.open).toBeLessThanOrEqual(2), 120_000);
    expect(pool.size).toMatchObject({ waiting: 0 });
    await pool.close();
  });

  test('fails at once where it has none', async () => {
    const [one, other] = [poolOf(), poolOf()];
    const held = [await one.getConnection(), await one.getConnection()];
    const refused = await other.query('SELECT 1').catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', sqlState: '53300', status: 503 });
    expect(isTemporary(refused)).toBe(true);
    held.forEach((connection) => connection.release());
    await Promise.all([one.close(), other.close()]);
  });
});

describe.skipIf(!hasPostgres)('a failure to connect that waiting does not fix', () => {
  test.each([
    ['a database that does not exist', (url: URL) => void (url.pathname = '/no_such_database'), '3D000'],
    ['a role that does not exist', (url: URL) => void (url.username = 'no_such_role'), '28000'],
  ])('is not temporary: %s', async (_what, change, sqlState) => {
    const url = new URL(postgresUrl);
    change(url);
    const pool = createPostgresPool({ connectionString: url.href });
    const error = await pool.query('SELECT 1').catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', sqlState });
    expect(isTemporary(error)).toBe(false);
    await pool.close();
  });

  test('is temporary where nobody listens', async () => {
    const pool = createPostgresPool({ host: '127.0.0.1', port: 1 });
    expect(isTemporary(await pool.query('SELECT 1').catch((error: unknown) => error))).toBe(true);
    await pool.close();
  });

  test('is not temporary where the address is none', async () => {
    const pool = createPostgresPool({ host: '127.0.0.1', port: 70_000 });
    expect(isTemporary(await pool.query('SELECT 1').catch((error: unknown) => error))).toBe(false);
    await pool.close();
  });
});

describe.skipIf(!hasPostgres)('a connection that has fallen silent', () => {
  let database: PostgresDatabase;
  beforeEach(async () => {
    database = await openPostgres();
  });
  afterEach(() => database.drop());

  test('is found out before it is handed out, when nobody has used it for a while', async () => {
    const proxy = await openProxyToPostgres();
    const pool = database.pool({ connectionString: database.url(proxy.port), max: 4, checkAfterMs: 20 });
    const held = await Promise.all(Array.from({ length: 4 }, () => pool.getConnection()));
    await Promise.all(held.map((connection) => connection.query('SELECT 1')));
    held.forEach((connection) => connection.release());
    // As after a failover that leaves old connections open: nothing comes back on them, and new ones work.
    proxy.silenceOpen();
    await new Promise((resolve) => setTimeout(resolve, 40));
    await expect(pool.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    expect(pool.size).toMatchObject({ open: 1, idle: 1 });
    await pool.close();
  });

  test('costs nothing to look for while connections are in use', async () => {
    const proxy = await openProxyToPostgres();
    const seen: string[] = [];
    const pool = database.pool({ connectionString: database.url(proxy.port), max: 1 });
    await pool.query('SELECT 1 AS one');
    proxy.faultAt = (message) => {
      seen.push(message);
      return 'none';
    };
    for (let turn = 0; turn < 3; turn += 1) await pool.query('SELECT 1 AS one');
    expect(seen).toHaveLength(3);
    await pool.close();
  });

  test.skipIf(process.platform !== 'linux')('is probed by TCP from the tenth second on', async () => {
    const pool = database.pool({ max: 1 });
    const [row] = await pool.query<{ port: number }>('SELECT inet_client_port() AS port');
    const hex = (port: unknown): string => `:${Number(port).toString(16).toUpperCase().padStart(4, '0')}`;
    const { port } = new URL(postgresUrl);
    const line = readFileSync('/proc/net/tcp', 'latin1')
      .split('\n')
      .map((text) => text.trim().split(/\s+/))
      .find(([, from, to]) => from?.endsWith(hex(row?.port)) && to?.endsWith(hex(port === '' ? 5432 : port)));
    const [kind, hundredths] = (line?.[5] ?? '').split(':');
    expect(kind).toBe('02');
    expect(Number.parseInt(hundredths ?? '', 16)).toBeLessThanOrEqual(1000);
  });
});
