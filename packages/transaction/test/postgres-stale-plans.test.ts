import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IConnection, type IDatabasePool, type IPooledConnection, runInTransaction } from '../src/index.js';
import { StatementNames } from '../src/postgres/driver.js';
import { mayBePrepared } from '../src/postgres/language.js';
import { hasPostgres } from '@ambit/test-kit';
import { openPostgres, type PostgresDatabase } from './support/databases.js';
import { requestScope } from './support/requests.js';

const READ = 'SELECT * FROM orders WHERE id > $1::int ORDER BY id';
const WRITE = 'INSERT INTO orders (id, level) VALUES ($1, $2) RETURNING id';
const CONNECTIONS = 3;

describe.skipIf(!hasPostgres)('when a table is changed after its statements were prepared', () => {
  let database: PostgresDatabase;
  let pool: IDatabasePool;

  beforeEach(async () => {
    database = await openPostgres();
    await database.admin.query('CREATE TABLE orders (id int PRIMARY KEY, level int)');
    pool = database.pool({ max: CONNECTIONS });
    await onAll(async (connection, index) => {
      await connection.query(READ, [0]);
      await connection.query(WRITE, [index + 1, 1]);
    });
  });
  afterEach(() => database.drop());

  const onAll = async (work: (connection: IPooledConnection, index: number) => Promise<unknown>): Promise<void> => {
    const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.getConnection()));
    try {
      await Promise.all(all.map(work));
    } finally {
      all.forEach((connection) => connection.release());
    }
  };

  test.each([
    ['another type of a result', 'ALTER TABLE orders ALTER COLUMN level TYPE text'],
    ['another column', 'ALTER TABLE orders ADD COLUMN note text'],
    ['one column less', 'ALTER TABLE orders DROP COLUMN level'],
  ])('no statement outside of a transaction fails, on any connection: %s', async (_what, change) => {
    await database.admin.query(change);
    await onAll((connection) => expect(connection.query(READ, [0])).resolves.toHaveLength(CONNECTIONS));
    await expect(pool.query(READ, [0])).resolves.toHaveLength(CONNECTIONS);
  });

  test('one transaction at most learns of it, and may run again', async () => {
    await database.admin.query('ALTER TABLE orders ALTER COLUMN level TYPE text');
    const request = requestScope(pool);
    const read = (): Promise<unknown> =>
      runInTransaction(request, (scope) => scope.resolve<IConnection>('IConnection').query(READ, [0]), { retries: 0 });
    const failures: unknown[] = [];
    for (let turn = 0; turn < 2 * CONNECTIONS; turn += 1) await read().catch((error: unknown) => failures.push(error));
    expect(failures).toMatchObject([
      { code: 'AMBIT_TX_STALE_STATEMENT', sqlState: '0A000', retryable: true, unavailable: true },
    ]);
    await expect(Promise.all(Array.from({ length: 4 * CONNECTIONS }, read))).resolves.toHaveLength(4 * CONNECTIONS);
  });

  test('runInTransaction() runs again by itself', async () => {
    await database.admin.query('ALTER TABLE orders ALTER COLUMN level TYPE text');
    const work = (scope: { resolve<T>(key: string): T }): Promise<unknown[]> =>
      scope.resolve<IConnection>('IConnection').query(READ, [0]);
    await expect(runInTransaction(requestScope(pool), work)).resolves.toHaveLength(CONNECTIONS);
  });

  test('a statement that is wrong fails as before, and is sent twice at most', async () => {
    const bad = pool.query(READ, ['no number']);
    await expect(bad).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '22P02' });
    await database.admin.query('DROP TABLE orders');
    await expect(pool.query(READ, [0])).rejects.toMatchObject({ sqlState: '42P01' });
  });
});

describe('the names of prepared statements', () => {
  test('are new after a change of their table, and limited in number', () => {
    const names = new StatementNames();
    const seen = new Set<string>();
    for (let change = 0; change < 2000; change += 1) {
      const name = names.nameOf(READ);
      if (name !== undefined) seen.add(name);
      names.renew(READ);
    }
    expect(seen.size).toBeGreaterThan(100);
    expect(seen.size).toBeLessThanOrEqual(500);
  });
});

describe('a statement means the same whenever it is parsed', () => {
  test.each([
    'SELECT count(*) FROM orders',
    'SELECT * FROM orders WHERE id = $1::int AND note = $2 :: varchar(3)',
    'INSERT INTO orders (id, tags) VALUES (CAST($1 AS bigint), cast( $2 as text[] ))',
    "SELECT data ->> 'name' FROM orders WHERE data->'tags' = $1::jsonb",
    "SELECT set_config(CAST('lock_timeout' AS text), '1s'::text, true)",
    'SELECT * FROM orders WHERE at < $1::timestamptz AND id < $2::double precision',
  ])('%s', (sql) => expect(mayBePrepared(sql)).toBe(true));

  test.each([
    'SELECT * FROM orders WHERE id = $1',
    'SELECT * FROM orders WHERE id = $1::int OR level = $1',
    'SELECT * FROM orders WHERE state = $1::state OR span = $2::int4range',
    'SELECT $1::int.x',
    'SELECT $1/**/::int',
    "SELECT 'today'::date",
    "SELECT * FROM orders WHERE at > 'yesterday'",
    "SELECT 'a', '::text, now'",
    "SELECT 'it''s'::text",
    'SELECT $$today$$::date',
    "SELECT E'\\'now'::text",
    "SELECT pg_advisory_xact_lock(CAST('orders' AS regclass)::int)",
  ])('but not %s', (sql) => expect(mayBePrepared(sql)).toBe(false));
});
