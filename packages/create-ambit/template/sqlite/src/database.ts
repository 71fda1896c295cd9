import type { IDatabasePool } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { Config } from './config.ts';

/** In development it reports, with the line, what a rollback does not undo, statements that repeat, and more. */
const check = transactionCheck({ enabled: process.env['NODE_ENV'] === 'development' });

export const createPool = ({ databaseFile }: Config): IDatabasePool =>
  check.pool(createSqlitePool({ path: databaseFile }));

/** Runs at each start. Replace it with migrations as soon as a table changes. */
export async function createTables(pool: IDatabasePool): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS orders (
      id INTEGER PRIMARY KEY,
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL
    )`);
  await pool.query(`
    CREATE TABLE IF NOT EXISTS stock (
      product TEXT PRIMARY KEY,
      level INTEGER NOT NULL
    )`);
  await pool.query(`INSERT INTO stock (product, level) VALUES ('apple', 10) ON CONFLICT DO NOTHING`);
}
