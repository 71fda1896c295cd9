import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ISqlDialect } from '../../src/database/engine.js';
import { hasMariadb, hasPostgres, openMariadbDatabase, openPostgresDatabase, openSchema } from '@ambit/test-kit';

/** An empty database, removed by `drop()`. */
export interface TestDatabase extends AsyncDisposable {
  /** The environment that makes the service use it. */
  readonly env: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

export interface DatabaseKind {
  readonly name: 'PostgreSQL' | 'SQLite' | 'MariaDB';
  readonly dialect: ISqlDialect['name'];
  /** Its tests are then skipped, unless AMBIT_REQUIRE_POSTGRES or AMBIT_REQUIRE_MARIADB is 1. */
  readonly missing: boolean;
  readonly open: () => Promise<TestDatabase>;
}

export const postgres: DatabaseKind = {
  name: 'PostgreSQL',
  dialect: 'postgres',
  missing: !hasPostgres,
  open: openPostgres,
};
export const sqlite: DatabaseKind = { name: 'SQLite', dialect: 'sqlite', missing: false, open: openSqlite };
export const mariadb: DatabaseKind = {
  name: 'MariaDB',
  dialect: 'mariadb',
  missing: !hasMariadb,
  open: openMariadb,
};
/** Those that several instances share. */
export const serverKinds: readonly DatabaseKind[] = [postgres, mariadb];
export const databaseKinds: readonly DatabaseKind[] = [postgres, sqlite, mariadb];

async function openSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  return testDatabase({ DATA_DIR: folder }, async () => rmSync(folder, { recursive: true }));
}

async function openPostgres(): Promise<TestDatabase> {
  const schema = await openSchema();
  return testDatabase({ DATABASE_URL: schema.url() }, () => schema.drop());
}

async function openMariadb(): Promise<TestDatabase> {
  const { url, drop } = await openMariadbDatabase();
  return testDatabase({ DATABASE_URL: url() }, drop);
}

/** A database of the server, where a schema is not enough. */
export async function openDatabaseOfServer(): Promise<TestDatabase & { readonly name: string }> {
  const { name, url, drop } = await openPostgresDatabase();
  return { name, ...testDatabase({ DATABASE_URL: url }, drop) };
}

function testDatabase(env: TestDatabase['env'], drop: () => Promise<void>): TestDatabase {
  return { env, drop, [Symbol.asyncDispose]: drop };
}
