import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databases, postgresUrl } from '@ambit/host-contract';
import { createPostgresPool } from '@ambit/transaction/postgres';

/** A fresh database, gone after `drop()`. */
export interface TestDatabase extends AsyncDisposable {
  /** What tells the service where it is. */
  readonly env: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

export interface DatabaseKind {
  readonly name: 'PostgreSQL' | 'SQLite';
  /** Skipped for all to see, unless AMBIT_REQUIRE_POSTGRES is 1. */
  readonly missing: boolean;
  readonly open: () => Promise<TestDatabase>;
}

const missing = databases.some((kind) => kind.name === 'PostgreSQL' && kind.missing);

export const postgres: DatabaseKind = { name: 'PostgreSQL', missing, open: openPostgres };
export const sqlite: DatabaseKind = { name: 'SQLite', missing: false, open: openSqlite };
export const databaseKinds: readonly DatabaseKind[] = [postgres, sqlite];

async function openSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const drop = async (): Promise<void> => rmSync(folder, { recursive: true });
  return { env: { DATA_DIR: folder }, drop, [Symbol.asyncDispose]: drop };
}

async function openPostgres(): Promise<TestDatabase> {
  const schema = `service_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const asAdmin = async (sql: string): Promise<void> => {
    const pool = createPostgresPool({ connectionString: postgresUrl, max: 1 });
    await pool.query(sql);
    await pool.close();
  };
  await asAdmin(`CREATE SCHEMA ${schema}`);
  const url = new URL(postgresUrl);
  url.searchParams.set('options', `-c search_path=${schema}`);
  const drop = (): Promise<void> => asAdmin(`DROP SCHEMA ${schema} CASCADE`);
  return { env: { DATABASE_URL: url.href }, drop, [Symbol.asyncDispose]: drop };
}
