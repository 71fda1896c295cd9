import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { fromPgPool } from '@ambit/drivers/pg';
import { fromPGlite } from '@ambit/drivers/pglite';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import type { IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { createPool } from 'mysql2/promise';
import { Client, Pool } from 'pg';
import postgres from 'postgres';

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
  MariaDB: openMariadb,
} as const satisfies Record<string, (driver?: DriverName) => Promise<TestDatabase>>;

/** Pools for PostgreSQL over drivers that an application has already. */
export type DriverName = 'pg' | 'postgres.js' | 'PGlite';

export type DatabaseKind = 'PostgreSQL' | 'SQLite' | 'MariaDB';

export const postgresUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

const mariadbUrl = process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306';

async function openPostgres(driver?: DriverName): Promise<TestDatabase> {
  if (driver === 'PGlite') return openPglite();
  const schema = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const admin = new Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  const address = new URL(postgresUrl);
  address.searchParams.set('options', `-c search_path=${schema}`);
  const pool = poolOver(driver, address, schema);
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

function poolOver(driver: DriverName | undefined, address: URL, schema: string): IDatabasePool {
  const options = { max: 4, closeTimeoutMs: 100 };
  if (driver === 'pg') return fromPgPool(new Pool({ connectionString: address.href, max: 4 }), options);
  if (driver !== 'postgres.js') return createPostgresPool({ connectionString: address.href, ...options });
  const own = postgres(postgresUrl, { max: 4, connection: { search_path: schema }, onnotice: () => {} });
  return fromPostgresJs(own, options);
}

/** PostgreSQL in the process; it has one connection. */
async function openPglite(): Promise<TestDatabase> {
  const pool = fromPGlite(await PGlite.create(), { closeTimeoutMs: 100 });
  return { kind: 'PostgreSQL', pool, address: '', schema: 'public', drop: () => pool.close() };
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

async function openMariadb(): Promise<TestDatabase> {
  const { hostname: host, port, username: user, password } = new URL(mariadbUrl);
  const database = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const settings = { host, port: Number(port || 3306), user, password, timezone: 'Z', connectionLimit: 4 };
  const admin = createPool(settings);
  await admin.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
  const pool = fromMysql2Pool(createPool({ ...settings, database }), { max: 4, closeTimeoutMs: 100 });
  return {
    kind: 'MariaDB',
    pool,
    address: '',
    schema: '',
    drop: async () => {
      await pool.close();
      await admin.query(`DROP DATABASE ${database}`);
      await admin.end();
    },
  };
}
