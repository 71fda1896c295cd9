import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { hasPostgres, openSchema } from './postgres.js';
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
  /** `writers`: how many connections that write its pool hands out at a time, where the database has several. Default 2. */
  readonly open: (options?: { readonly writers?: number }) => Promise<TestDatabase>;
}

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

async function openPostgres({ writers = 2 } = {}): Promise<TestDatabase> {
  const schema = await openSchema();
  const pool = createPostgresPool({ connectionString: schema.url(), max: writers, closeTimeoutMs: 100 });
  return {
    pool,
    writers,
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
