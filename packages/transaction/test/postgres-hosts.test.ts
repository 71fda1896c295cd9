import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IDatabasePool, isTemporary, type TransactionError } from '../src/index.js';
import { createPostgresPool } from '../src/postgres/index.js';
import { hasPostgres, postgresUrl } from '@ambit/test-kit';

describe.skipIf(!hasPostgres)('a pool with several hosts', () => {
  /** Accepts connections and never says a word. */
  let silent: Server;
  const sockets = new Set<Socket>();
  let tries = 0;
  const pools: IDatabasePool[] = [];

  beforeEach(async () => {
    tries = 0;
    silent = createServer((socket) => {
      tries += 1;
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.close()));
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  const ofSilent = (): string => `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const poolOf = (hosts: (real: string) => string, { user }: { user?: string } = {}): IDatabasePool => {
    const url = new URL(postgresUrl);
    const real = `${url.hostname}:${url.port === '' ? 5432 : url.port}`;
    const credentials = url.password === '' ? (user ?? url.username) : `${user ?? url.username}:${url.password}`;
    const connectionString = `postgres://${credentials}@${hosts(real)}${url.pathname}`;
    const pool = createPostgresPool({ connectionString, max: 4, connectTimeoutMs: 1000 });
    pools.push(pool);
    return pool;
  };

  test('goes on to the next when one is silent, and asks that one last for a while', async () => {
    const pool = poolOf((real) => `${ofSilent()},${real}`);
    await expect(pool.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    const all = await Promise.all([pool.getConnection(), pool.getConnection(), pool.getConnection()]);
    expect(tries).toBe(1);
    all.forEach((connection) => connection.release());
  });

  test('reports all hosts when none gives a connection, as a temporary failure', async () => {
    const pool = poolOf(() => `${ofSilent()},127.0.0.1:1`);
    const error = (await pool.query('SELECT 1').catch((failure: unknown) => failure)) as TransactionError;
    expect(error).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', unavailable: true });
    expect((error.cause as AggregateError).errors).toHaveLength(2);
    expect(isTemporary(error)).toBe(true);
  });

  test('looks no further when a server refuses the user, as libpq does', async () => {
    const pool = poolOf((real) => `${real},${ofSilent()}`, { user: 'no_such_role' });
    const error = await pool.query('SELECT 1').catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', sqlState: '28000' });
    expect(isTemporary(error)).toBe(false);
    expect(tries).toBe(0);
  });
});
