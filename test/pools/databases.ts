import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabasePool } from '@ambit/transaction';
import { Client } from 'pg';

type PoolOptions = { max?: number; acquireTimeoutMs?: number; maxWaiting?: number };

/** Another user of a driver's pool: takes one of its connections, runs the statements, and returns it as it is. */
type OtherUser = (statements: readonly string[]) => Promise<void>;

type Created = DatabasePool | { readonly pool: DatabasePool; readonly otherUser: OtherUser };

/** A database of a test's own for the contract: `create` opens a driver on it and makes a pool of it. */
export function testDatabase(
  create: (
    options: Required<Pick<PoolOptions, 'max'>> & Omit<PoolOptions, 'max'> & { closeTimeoutMs: number },
  ) => Created,
  drop: () => unknown = () => undefined,
): {
  pool(options?: PoolOptions): DatabasePool;
  elsewhere(...statements: readonly string[]): Promise<void>;
  drop(): Promise<void>;
} {
  const pools: DatabasePool[] = [];
  let last: OtherUser | undefined;
  return {
    pool: ({ max = 4, ...options } = {}) => {
      const created = create({ closeTimeoutMs: 100, max, ...options });
      const pool = 'otherUser' in created ? created.pool : created;
      last = 'otherUser' in created ? created.otherUser : undefined;
      pools.push(pool);
      return pool;
    },
    elsewhere: async (...statements) => last?.(statements),
    drop: async () => {
      await Promise.all(pools.map((pool) => pool.close()));
      await drop();
    },
  };
}

export const postgresUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
export const mariadbUrl = process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306';

export const newName = (): string => `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;

/** An empty schema. */
export async function openSchema(): Promise<{ schema: string; url: string; admin: Client; drop(): Promise<void> }> {
  const schema = newName();
  const admin = new Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  const url = new URL(postgresUrl);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return {
    schema,
    url: url.href,
    admin,
    drop: async () => {
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}

/** A file in a folder of its own. */
export async function inFolder(
  create: (path: string, options: object) => Created,
): Promise<ReturnType<typeof testDatabase>> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const path = join(folder, 'test.db');
  return testDatabase(
    ({ max: _max, ...options }) => create(path, options),
    () => rmSync(folder, { recursive: true }),
  );
}
