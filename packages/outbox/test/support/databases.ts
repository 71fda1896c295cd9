import { databases as onDisk, type DatabaseKind, type TestDatabase } from '@ambit/test-kit';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { OutboxDialect } from '../../src/index.js';

export type OpenDatabase = Pick<TestDatabase, 'pool' | 'drop'>;

interface OutboxDatabase extends Pick<DatabaseKind, 'name' | 'missing'> {
  readonly dialect: OutboxDialect;
  readonly open: (options?: { readonly writers?: number }) => Promise<OpenDatabase>;
}

/** Every database that an outbox can be in; in memory there is one connection for all. */
export const databases: readonly OutboxDatabase[] = [
  ...onDisk,
  { name: 'SQLite in memory', missing: false, dialect: 'sqlite', open: openMemory },
];

/** The first of the dialect: of SQLite the one on the disk. */
export function databaseOf(dialect: OutboxDialect): OutboxDatabase {
  const database = databases.find((each) => each.dialect === dialect);
  if (!database) throw new Error(`There is no ${dialect}`);
  return database;
}

async function openMemory(): Promise<OpenDatabase> {
  const pool = createSqlitePool({ path: ':memory:', closeTimeoutMs: 100 });
  return { pool, drop: () => pool.close() };
}
