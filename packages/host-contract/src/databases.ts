import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { Client } from 'pg';
import type { WatchedConnection } from './watched-connection.js';

/** A database of a test file alone, removed by `drop()`. */
export interface TestDatabase {
  readonly pool: IDatabasePool;
  /** How many connections that write its pool hands out at a time. */
  readonly writers: number;
  /** Cuts the connection as the database's operator or a broken line would, and resolves when it is cut. */
  kill(connection: WatchedConnection): Promise<void>;
  drop(): Promise<void>;
}

export interface DatabaseKind {
  readonly name: string;
  readonly missing: boolean;
  readonly open: () => Promise<TestDatabase>;
}

export const postgresUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** Without PostgreSQL its tests are skipped for all to see; where AMBIT_REQUIRE_POSTGRES is 1 they fail instead. */
const hasPostgres = process.env['AMBIT_REQUIRE_POSTGRES'] === '1' || (await accepts(postgresUrl));

export const databases: readonly DatabaseKind[] = [
  { name: 'PostgreSQL', missing: !hasPostgres, open: openPostgres },
  { name: 'SQLite', missing: false, open: openSqlite },
];

async function openSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const pool = createSqlitePool({ path: join(folder, 'test.db'), closeTimeoutMs: 100 });
  return {
    pool,
    writers: 1,
    kill: async (connection) => connection.die(),
    drop: async () => {
      await pool.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function openPostgres(): Promise<TestDatabase> {
  const schema = `host_contract_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const admin = new Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  const url = new URL(postgresUrl);
  url.searchParams.set('options', `-c search_path=${schema}`);
  const writers = 2;
  const pool = createPostgresPool({ connectionString: url.href, max: writers, closeTimeoutMs: 100 });
  return {
    pool,
    writers,
    kill: async ({ inner }) => {
      const [row] = await inner.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await admin.query('SELECT pg_terminate_backend($1, 5000)', [row?.pid]);
    },
    drop: async () => {
      await pool.close();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
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
