import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databases, postgresUrl } from '@ambit/host-contract';
import { createPostgresPool } from '@ambit/transaction/postgres';

/** An empty database, removed by `drop()`. */
export interface TestDatabase extends AsyncDisposable {
  /** The environment that makes the service use it. */
  readonly env: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

export interface DatabaseKind {
  readonly name: 'PostgreSQL' | 'SQLite';
  /** Its tests are then skipped, unless AMBIT_REQUIRE_POSTGRES is 1. */
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
  const schema = newName();
  await asPostgresAdmin(`CREATE SCHEMA ${schema}`);
  const url = new URL(postgresUrl);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return testDatabase({ DATABASE_URL: url.href }, () => asPostgresAdmin(`DROP SCHEMA ${schema} CASCADE`));
}

/** A database of the server, where a schema is not enough. */
export async function openPostgresDatabase(): Promise<TestDatabase & { readonly name: string }> {
  const name = newName();
  await asPostgresAdmin(`CREATE DATABASE ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = name;
  const drop = (): Promise<void> => asPostgresAdmin(`DROP DATABASE ${name} WITH (FORCE)`);
  return { name, ...testDatabase({ DATABASE_URL: url.href }, drop) };
}

export async function asPostgresAdmin(sql: string): Promise<void> {
  const pool = createPostgresPool({ connectionString: postgresUrl, max: 1 });
  await pool.query(sql);
  await pool.close();
}

function newName(): string {
  return `service_${process.pid}_${Math.random().toString(36).slice(2)}`;
}

function testDatabase(env: TestDatabase['env'], drop: () => Promise<void>): TestDatabase {
  return { env, drop, [Symbol.asyncDispose]: drop };
}
