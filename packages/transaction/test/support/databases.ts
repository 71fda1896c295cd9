import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type FaultyProxy,
  hasMariadb,
  hasPostgres,
  openMariadbDatabase,
  openProxy,
  openSchema,
  type PostgresSchema,
  postgresUrl,
} from '@ambit/test-kit';
import { onTestFinished } from 'vitest';
import type { DatabasePool } from '../../src/index.js';
import { createPostgresPool, type PostgresPoolOptions } from '../../src/postgres/index.js';
import { createSqlitePool } from '../../src/sqlite/index.js';
import { type Sandbox, sandbox } from '../../src/testing/index.js';
import { LEFTOVERS_OF_FILES, LEFTOVERS_OF_ONE_CONNECTION } from './sqlite-leftovers.js';
import type { ContractDatabase, PoolOptions, PoolsToTest } from '@ambit/testing/pools';
import { POSTGRES_LEFTOVERS } from './postgres-leftovers.js';

/** How long a connection may take on a busy machine. */
const TIMEOUT_MS = 60_000;

/** A database of a test's own: empty, and removed by `drop()`. */
export interface TestDatabase extends PoolsToTest {
  /** A pool of at most `max` writers. */
  pool(options?: PoolOptions): DatabasePool;
}

export const databases: readonly (Omit<ContractDatabase, 'open'> &
  Required<Pick<ContractDatabase, 'missing' | 'beginWaits'>> & { open(): Promise<TestDatabase> })[] = [
  { name: 'SQLite', missing: false, beginWaits: true, leftovers: LEFTOVERS_OF_FILES, open: openSqlite },
  {
    name: 'SQLite in memory',
    missing: false,
    beginWaits: false,
    hasOneConnection: true,
    leftovers: LEFTOVERS_OF_ONE_CONNECTION,
    open: openMemory,
  },
  {
    name: 'PostgreSQL',
    missing: !hasPostgres,
    beginWaits: false,
    hasSeveralWriters: true,
    terminates: true,
    isPostgres: true,
    leftovers: POSTGRES_LEFTOVERS,
    open: openPostgres,
  },
  {
    name: 'MariaDB',
    missing: !hasMariadb,
    beginWaits: false,
    hasSeveralWriters: true,
    refusedCommit: 'killed connection',
    cannot: {
      'counts the rows of UPDATE with RETURNING': 'it has RETURNING for INSERT and DELETE only',
      'counts no row that ON CONFLICT left out': 'it is INSERT IGNORE there',
      'counts the rows of a statement that begins with WITH': 'it has WITH before SELECT only',
    },
    open: openMariadb,
  },
];

/** The transaction that SQLite rolls back is the one of the whole sandbox. */
const LOST_WITH_ITS_TRANSACTION = {
  'stores all or nothing when the database has rolled the transaction back by itself': 'the sandbox refuses every use',
  'begins again where the database has rolled the transaction back, and only there': 'the sandbox refuses every use',
};

/**
 * A sandbox instead of a pool. There is one at a time, because on SQLite it takes the one lock to write. The contracts create their
 * tables in it, and on MariaDB that would commit its transaction: there, and in memory, it is tested by `sandbox.test.ts` alone.
 */
export const sandboxes: readonly ContractDatabase[] = databases
  .filter(({ name }) => name === 'SQLite' || name === 'PostgreSQL')
  .map(({ name, missing, open }) => ({
    name: `a sandbox on ${name}`,
    missing,
    hasOneConnection: true,
    // It commits nothing.
    refusedCommit: undefined,
    cannot: name === 'SQLite' ? LOST_WITH_ITS_TRANSACTION : {},
    open: async () => {
      const database = await open();
      let last: Sandbox | undefined;
      return {
        pool: async ({ maxWaiting, acquireTimeoutMs, closeTimeoutMs = 100 }: PoolOptions = {}) => {
          await last?.rollback();
          const options = { ...maxWaitingOf({ maxWaiting }), ...(acquireTimeoutMs ? { acquireTimeoutMs } : {}) };
          last = await sandbox(database.pool(), { ...options, closeTimeoutMs });
          return last;
        },
        drop: async () => {
          await last?.rollback();
          await database.drop();
        },
      };
    },
  }));

export async function openSqlite(): Promise<TestDatabase & { readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const path = join(folder, 'test.db');
  const pools: DatabasePool[] = [];
  return {
    path,
    pool: ({ acquireTimeoutMs = TIMEOUT_MS, closeTimeoutMs = 100, ...options } = {}) =>
      keep(pools, createSqlitePool({ path, acquireTimeoutMs, closeTimeoutMs, ...maxWaitingOf(options) })),
    drop: async () => {
      await closeAll(pools);
      rmSync(folder, { recursive: true });
    },
  };
}

async function openMemory(): Promise<TestDatabase> {
  const pools: DatabasePool[] = [];
  return {
    pool: ({ acquireTimeoutMs = TIMEOUT_MS, closeTimeoutMs = 100, ...options } = {}) =>
      keep(pools, createSqlitePool({ path: ':memory:', acquireTimeoutMs, closeTimeoutMs, ...maxWaitingOf(options) })),
    drop: () => closeAll(pools),
  };
}

export interface PostgresDatabase extends TestDatabase, Omit<PostgresSchema, 'drop'> {
  pool(options?: PostgresPoolOptions): DatabasePool;
}

export async function openPostgres(): Promise<PostgresDatabase> {
  const schema = await openSchema();
  const pools: DatabasePool[] = [];
  const limits = { acquireTimeoutMs: TIMEOUT_MS, connectTimeoutMs: TIMEOUT_MS, closeTimeoutMs: 100 };
  return {
    ...schema,
    pool: (options = {}) =>
      keep(pools, createPostgresPool({ ...limits, connectionString: schema.url(), max: 4, ...options })),
    drop: async () => {
      await closeAll(pools);
      await schema.drop();
    },
  };
}

/** Between a pool and the server, until the test ends. */
export async function openProxyToPostgres(): Promise<FaultyProxy> {
  const { hostname, port } = new URL(postgresUrl);
  const proxy = await openProxy({ host: hostname, port: Number(port || 5432) });
  onTestFinished(() => proxy.close());
  return proxy;
}

async function openMariadb(): Promise<TestDatabase> {
  const database = await openMariadbDatabase();
  const pools: DatabasePool[] = [];
  return {
    pool: ({ max = 4, closeTimeoutMs = 100, acquireTimeoutMs = TIMEOUT_MS, ...options } = {}) => {
      const limits = { ...maxWaitingOf(options), acquireTimeoutMs };
      // The statements of the contracts are standard SQL: "x" is a name in them, and || concatenates.
      return keep(pools, database.pool({ max, closeTimeoutMs, ...limits, sqlMode: 'ANSI,TRADITIONAL' }));
    },
    drop: async () => {
      await closeAll(pools);
      await database.drop();
    },
  };
}

/** There is one writer only, whatever `max` says. */
function maxWaitingOf({ maxWaiting }: { maxWaiting?: number | undefined }): { maxWaiting?: number } {
  return maxWaiting === undefined ? {} : { maxWaiting };
}

function keep(pools: DatabasePool[], pool: DatabasePool): DatabasePool {
  pools.push(pool);
  return pool;
}

async function closeAll(pools: readonly DatabasePool[]): Promise<void> {
  await Promise.all(pools.map((pool) => pool.close()));
}
