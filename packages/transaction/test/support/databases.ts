import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { IDatabasePool } from '../../src/index.js';
import { createPostgresPool, type PostgresPoolOptions } from '../../src/postgres/index.js';
import { createSqlitePool } from '../../src/sqlite/index.js';

/** A database of a test's own: empty, and removed by `drop()`. */
export interface TestDatabase {
  /** A pool of at most `max` writers. */
  pool(options?: { max?: number; acquireTimeoutMs?: number; maxWaiting?: number }): IDatabasePool;
  drop(): Promise<void>;
}

export const postgresUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** Without PostgreSQL its tests are skipped for all to see; where AMBIT_REQUIRE_POSTGRES is 1 they fail instead. */
export const hasPostgres = process.env['AMBIT_REQUIRE_POSTGRES'] === '1' || (await accepts(postgresUrl));

export const databases: readonly { name: string; missing: boolean; open: () => Promise<TestDatabase> }[] = [
  { name: 'SQLite', missing: false, open: openSqlite },
  { name: 'SQLite in memory', missing: false, open: openMemory },
  { name: 'PostgreSQL', missing: !hasPostgres, open: openPostgres },
];

export async function openSqlite(): Promise<TestDatabase & { readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const path = join(folder, 'test.db');
  const pools: IDatabasePool[] = [];
  return {
    path,
    pool: ({ acquireTimeoutMs = 5000, ...options } = {}) =>
      keep(pools, createSqlitePool({ path, acquireTimeoutMs, closeTimeoutMs: 100, ...maxWaitingOf(options) })),
    drop: async () => {
      await closeAll(pools);
      rmSync(folder, { recursive: true });
    },
  };
}

async function openMemory(): Promise<TestDatabase> {
  const pools: IDatabasePool[] = [];
  return {
    pool: ({ acquireTimeoutMs = 5000, ...options } = {}) =>
      keep(
        pools,
        createSqlitePool({ path: ':memory:', acquireTimeoutMs, closeTimeoutMs: 100, ...maxWaitingOf(options) }),
      ),
    drop: () => closeAll(pools),
  };
}

export interface PostgresDatabase extends TestDatabase {
  pool(options?: PostgresPoolOptions): IDatabasePool;
  /** Looks in from outside of every pool. */
  readonly admin: Client;
  /** The address, with a schema of its own; `port` sends it through a proxy. */
  url(port?: number): string;
}

export async function openPostgres(): Promise<PostgresDatabase> {
  const schema = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const admin = new Client({ connectionString: postgresUrl, options: `-c search_path=${schema}` });
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  const pools: IDatabasePool[] = [];
  const url = (port?: number): string => {
    const address = new URL(postgresUrl);
    if (port !== undefined) address.host = `127.0.0.1:${port}`;
    address.searchParams.set('options', `-c search_path=${schema}`);
    return address.href;
  };
  return {
    admin,
    url,
    pool: (options = {}) =>
      keep(pools, createPostgresPool({ connectionString: url(), max: 4, closeTimeoutMs: 100, ...options })),
    drop: async () => {
      await closeAll(pools);
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}

/** There is one writer only, whatever `max` says. */
function maxWaitingOf({ maxWaiting }: { maxWaiting?: number }): { maxWaiting?: number } {
  return maxWaiting === undefined ? {} : { maxWaiting };
}

function keep(pools: IDatabasePool[], pool: IDatabasePool): IDatabasePool {
  pools.push(pool);
  return pool;
}

async function closeAll(pools: readonly IDatabasePool[]): Promise<void> {
  await Promise.all(pools.map((pool) => pool.close()));
}

async function accepts(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
