import { createPostgresPool } from '@ambit/transaction/postgres';
import { hasPostgres, postgresUrl } from '@ambit/test-kit';
import type pg from 'pg';
import { expect, it, vi } from 'vitest';

// As a compiler to CommonJS without `esModuleInterop` gives it to what it has compiled, such as ts-jest to our packages.
vi.mock('pg', async (importOriginal) => {
  const { default: library } = await importOriginal<{ readonly default: typeof pg }>();
  const { Client, DatabaseError, Query, types } = library;
  return { Client, DatabaseError, Query, types, default: undefined };
});

it.runIf(hasPostgres)('createPostgresPool() works where `pg` has no default export', async () => {
  await using pool = createPostgresPool({ connectionString: postgresUrl });
  expect(await pool.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});
