import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { Client } from 'pg';

/** An empty database of a test file alone, removed by `drop()`. */
export interface TestDatabase {
  readonly kind: DatabaseKind;
  readonly pool: IDatabasePool;
  /** Where an ORM's own driver finds it: an address, or the path of the file. */
  readonly address: string;
  /** The schema of PostgreSQL that is the test's own; empty elsewhere. */
  readonly schema: string;
  drop(): Promise<void>;
}

export const DATABASES = {
  PostgreSQL: openPostgres,
  SQLite: openSqlite,
} as const satisfies Record<string, () => Promise<TestDatabase>>;

export type DatabaseKind = 'PostgreSQL' | 'SQLite';

export const postgresUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

async function openPostgres(): Promise<TestDatabase> {
  const schema = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const admin = new Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  const address = new URL(postgresUrl);
  address.searchParams.set('options', `-c search_path=${schema}`);
  const pool = createPostgresPool({ connectionString: address.href, max: 4, closeTimeoutMs: 100 });
  return {
    kind: 'PostgreSQL',
    pool,
    address: address.href,
    schema,
    drop: async () => {
      await pool.close();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}

async function openSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const address = join(folder, 'test.db');
  const pool = createSqlitePool({ path: address, closeTimeoutMs: 100 });
  return {
    kind: 'SQLite',
    pool,
    address,
    schema: '',
    drop: async () => {
      await pool.close();
      rmSync(folder, { recursive: true });
    },
  };
}
