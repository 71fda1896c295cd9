import type { IDatabasePool } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool } from '@ambit/transaction/postgres';
import type { Config } from './config.ts';

/** In development it reports, with the line, what a rollback does not undo, statements that repeat, and more. */
const check = transactionCheck({ enabled: process.env['NODE_ENV'] === 'development' });

export const createPool = ({ databaseUrl }: Config): IDatabasePool =>
  check.pool(createPostgresPool({ connectionString: databaseUrl }));

/** Runs at each start. Replace it with migrations as soon as a table changes. */
export async function createTables(pool: IDatabasePool): Promise<void> {
  // The lock lets a second instance that starts at the same time wait for the first.
  await pool.query(`
    DO $$ BEGIN
      PERFORM pg_advisory_xact_lock(1);
      CREATE TABLE IF NOT EXISTS orders (
        id INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        product TEXT NOT NULL,
        quantity INTEGER NOT NULL
      );
      CREATE TABLE IF NOT EXISTS stock (
        product TEXT PRIMARY KEY,
        level INTEGER NOT NULL
      );
      INSERT INTO stock (product, level) VALUES ('apple', 10) ON CONFLICT DO NOTHING;
    END $$`);
}
