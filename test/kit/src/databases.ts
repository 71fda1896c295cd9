import type { DatabaseKind, TestDatabase } from '@ambit/testing/hosts';
import { sqliteDatabase } from '@ambit/testing/tools';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { hasMariadb, openMariadbDatabase } from './mariadb.js';
import { hasPostgres, openSchema } from './postgres.js';

/** Statements of tests wait for a connection for as long as a busy machine takes. */
const LIMITS = { acquireTimeoutMs: 60_000, closeTimeoutMs: 100 };

export const databases: readonly DatabaseKind[] = [
  { name: 'PostgreSQL', dialect: 'postgres', missing: !hasPostgres, open: openPostgres },
  sqliteDatabase,
  { name: 'MariaDB', dialect: 'mariadb', missing: !hasMariadb, open: openMariadb },
];

/** `npm test` tries what all databases guarantee on these two, the step `contracts` on the others. */
const QUICK: ReadonlySet<string> = new Set(['PostgreSQL', 'SQLite']);

export const chosen = <T extends { readonly name: string }>(among: readonly T[]): readonly T[] =>
  among.filter(({ name }) => QUICK.has(name) !== (process.env['OTHER_DATABASES'] === '1'));

async function openPostgres({ writers = 2 } = {}): Promise<TestDatabase> {
  const schema = await openSchema();
  const pool = createPostgresPool({ connectionString: schema.url(), max: writers, ...LIMITS });
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
  const pool = database.pool({ max: writers, ...LIMITS });
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
