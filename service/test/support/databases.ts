import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasPostgres, openPostgresDatabase, openSchema } from '@ambit/host-contract';

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

export const postgres: DatabaseKind = { name: 'PostgreSQL', missing: !hasPostgres, open: openPostgres };
export const sqlite: DatabaseKind = { name: 'SQLite', missing: false, open: openSqlite };
export const databaseKinds: readonly DatabaseKind[] = [postgres, sqlite];

async function openSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  return testDatabase({ DATA_DIR: folder }, async () => rmSync(folder, { recursive: true }));
}

async function openPostgres(): Promise<TestDatabase> {
  const schema = await openSchema();
  return testDatabase({ DATABASE_URL: schema.url() }, () => schema.drop());
}

/** A database of the server, where a schema is not enough. */
export async function openDatabaseOfServer(): Promise<TestDatabase & { readonly name: string }> {
  const { name, url, drop } = await openPostgresDatabase();
  return { name, ...testDatabase({ DATABASE_URL: url }, drop) };
}

function testDatabase(env: TestDatabase['env'], drop: () => Promise<void>): TestDatabase {
  return { env, drop, [Symbol.asyncDispose]: drop };
}
