import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { hasMariadb, openMariadbDatabase } from './mariadb.js';
import { hasPostgres, openSchema } from './postgres.js';
import type { WatchedConnection } from './watched-connection.js';

/** A database of a test file alone, removed by `drop()`. */
export interface TestDatabase {
  readonly pool: IDatabasePool;
  /** How many connections that write its pool hands out at a time. */
  readonly writers: number;
  /** Whether it has constraints that are checked at COMMIT, which is then refused. */
  readonly defersConstraints: boolean;
  /** Cuts the connection as the database's operator or a broken line would, and resolves when it is cut. */
  kill(connection: WatchedConnection): Promise<void>;
  drop(): Promise<void>;
}

export interface DatabaseKind {
  readonly name: string;
  /** What packages with tables of their own call its SQL. */
  readonly dialect: 'postgres' | 'sqlite' | 'mariadb';
  readonly missing: boolean;
  /** `writers`: how many connections that write its pool hands out at a time, where the database has several. Default 2. */
  readonly open: (options?: { readonly writers?: number }) => Promise<TestDatabase>;
}

export const databases: readonly DatabaseKind[] = [
  { name: 'PostgreSQL', dialect: 'postgres', missing: !hasPostgres, open: openPostgres },
  { name: 'SQLite', dialect: 'sqlite', missing: false, open: openSqlite },
  { name: 'MariaDB', dialect: 'mariadb', missing: !hasMariadb, open: openMariadb },
];

async function openSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const pool = createSqlitePool({ path: join(folder, 'test.db'), closeTimeoutMs: 100 });
  return {
    pool,
    writers: 1,
    defersConstraints: true,
    kill: async (connection) => connection.die(),
    drop: async () => {
      await pool.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function openPostgres({ writers = 2 } = {}): Promise<TestDatabase> {
  const schema = await openSchema();
  const pool = createPostgresPool({ connectionString: schema.url(), max: writers, closeTimeoutMs: 100 });
  return {
    pool,
    writers,
    defersConstraints: true,
    kill: async ({ inner }) => {
      const [row] = await inner.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await schema.admin.query('SELECT pg_terminate_backend($1, 5000)', [row?.pid]);
    },
    drop: async () => {
      await pool.close();
      await schema.drop();
    },
  };
}

async function openMariadb({ writers = 2 } = {}): Promise<TestDatabase> {
  const database = await openMariadbDatabase();
  const pool = database.pool({ max: writers, closeTimeoutMs: 100 });
  return {
    pool,
    writers,
    defersConstraints: false,
    kill: async ({ inner }) => {
      const [row] = await inner.query<{ id: number }>('SELECT CONNECTION_ID() AS id');
      await database.kill(row?.id);
    },
    drop: async () => {
      await pool.close();
      await database.drop();
    },
  };
}
