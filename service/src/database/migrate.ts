import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type IDatabasePool, splitStatements, sqlStateOf } from '@ambit/transaction';
import type { ISqlDialect } from './dialect.js';
import type { Queryable } from './pool.js';
import { type OnRetry, whenAvailable } from './unusable.js';

/** The path is the same from `dist/database` and from `src/database`. */
const FOLDER = new URL('../../src/database/migrations/', import.meta.url);

interface Migration {
  readonly name: string;
  readonly script: string;
  readonly checksum: string;
}

const FIRST_STATEMENTS = [
  'CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, checksum text NOT NULL)',
  'CREATE TABLE IF NOT EXISTS migration_lock (id integer PRIMARY KEY)',
  'INSERT INTO migration_lock (id) VALUES (1) ON CONFLICT (id) DO NOTHING',
];
/** When two programs create a table at the same time, PostgreSQL refuses one of them, which then finds the table. */
const CREATED_MEANWHILE = new Set(['23505', '40001', '42710', '42P07']);

/**
 * Applies the migrations that the database has not had yet; safe to run in several processes at once. The lock is a row,
 * not an advisory lock, so that it also works behind a pooler and on engines that only speak PostgreSQL's protocol.
 */
export async function migrate(
  pool: IDatabasePool,
  { name: dialect, forUpdate }: ISqlDialect,
  waitMs = 0,
  onRetry: OnRetry = () => undefined,
): Promise<void> {
  await whenAvailable(
    async () => {
      try {
        await inTransaction(pool, run);
      } catch (error) {
        if (!CREATED_MEANWHILE.has(sqlStateOf(error) ?? '')) throw error;
        await inTransaction(pool, run);
      }
    },
    waitMs,
    onRetry,
  );

  /** One transaction, so that nothing is left in the database of another program, where a table of the same name exists. */
  async function run(connection: Queryable): Promise<void> {
    for (const statement of FIRST_STATEMENTS) await connection.query(statement);
    await connection.query(`SELECT id FROM migration_lock ORDER BY id ${forUpdate}`);
    for (const migration of readMigrations(dialect)) await apply(connection, migration);
  }

  async function apply(connection: Queryable, { name, script, checksum }: Migration): Promise<void> {
    const [applied] = await connection.query<{ checksum: string }>('SELECT checksum FROM migrations WHERE name = $1', [
      name,
    ]);
    if (applied && applied.checksum !== checksum) {
      throw new Error(
        `The migration ${name} was changed after this database had run it. Undo the change, and add a new migration.`,
      );
    }
    if (applied) return;
    for (const statement of splitStatements(script)) await connection.query(statement);
    await connection.query('INSERT INTO migrations (name, checksum) VALUES ($1, $2)', [name, checksum]);
  }
}

async function inTransaction(pool: IDatabasePool, work: (connection: Queryable) => Promise<void>): Promise<void> {
  const connection = await pool.getConnection();
  try {
    // A process that waited for the lock must see what was committed meanwhile, whatever the role's default is.
    await connection.beginTransaction({ isolation: 'read committed' });
    await work(connection);
    await connection.commit();
    connection.release();
  } catch (error) {
    connection.release(true);
    throw error;
  }
}

/** `0003-outbox.sqlite.sql` is for SQLite only, a name without a database is for both. */
const MIGRATION = /^[^.]+(?:\.(postgres|sqlite))?\.sql$/;

function readMigrations(dialect: ISqlDialect['name']): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => {
      const [match, only = dialect] = MIGRATION.exec(file) ?? [];
      return match !== undefined && only === dialect;
    })
    .toSorted()
    .map((name) => {
      const script = readFileSync(new URL(name, FOLDER), 'utf8');
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') };
    });
}
