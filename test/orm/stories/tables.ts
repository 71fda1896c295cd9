import type { IDatabasePool } from '@ambit/transaction';
import type { DatabaseKind, TestDatabase } from '../../libraries/databases.js';

const TYPES: Readonly<Record<DatabaseKind, { at: string; big: string; data: string; yes: string }>> = {
  PostgreSQL: { at: 'TIMESTAMPTZ', big: 'BIGINT', data: 'JSONB', yes: 'BOOLEAN' },
  SQLite: { at: 'TEXT', big: 'INTEGER', data: 'TEXT', yes: 'INTEGER' },
};

export async function createTables({ kind, pool }: TestDatabase): Promise<void> {
  const { at, big, data, yes } = TYPES[kind];
  await pool.query('CREATE TABLE authors (id INTEGER PRIMARY KEY, name VARCHAR(100) NOT NULL)');
  await pool.query(
    'CREATE TABLE books (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES authors (id), name VARCHAR(100) NOT NULL, version INTEGER NOT NULL DEFAULT 1)',
  );
  await pool.query(
    `CREATE TABLE samples (id INTEGER PRIMARY KEY, at ${at} NOT NULL, big ${big} NOT NULL, data ${data} NOT NULL, yes ${yes} NOT NULL, missing VARCHAR(100))`,
  );
}

export async function emptyTables(pool: IDatabasePool): Promise<void> {
  for (const table of ['samples', 'books', 'authors']) await pool.query(`DELETE FROM ${table}`);
}
