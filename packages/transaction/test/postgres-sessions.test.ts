import { hasPostgres } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IConnection, type IDatabasePool, type IPooledConnection, runInTransaction } from '../src/index.js';
import { StatementNames } from '../src/postgres/driver.js';
import { leavesSessionState, mayBePrepared } from '../src/postgres/language.js';
import { openPostgres, type PostgresDatabase } from './support/databases.js';
import { requestScope } from './support/requests.js';

describe.skipIf(!hasPostgres)('the session of a connection to PostgreSQL', () => {
  let database: PostgresDatabase;
  let pool: IDatabasePool;

  beforeEach(async () => {
    database = await openPostgres();
    pool = database.pool({ max: 1 });
  });
  afterEach(() => database.drop());

  const pidOf = async (): Promise<unknown> => (await pool.query('SELECT pg_backend_pid() AS pid'))[0]?.['pid'];

  test('stays with a connection that changed nothing but its transaction', async () => {
    const before = await pidOf();
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query("SET LOCAL lock_timeout = '7ms'");
    await connection.query("SELECT set_config('lock_timeout', coalesce($1, ''), true)", ['8ms']);
    await connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ').catch(() => undefined);
    await connection.rollback();
    await connection.beginTransaction();
    await connection.query('SELECT pg_advisory_xact_lock(4711, 2)');
    await connection.query('CREATE TEMP TABLE draft (id int) ON COMMIT DROP');
    await connection.commit();
    connection.release();
    expect(await pidOf()).toBe(before);
  });
});

describe('a statement that leaves something in its session', () => {
  test.each([
    'SET x = 1',
    ' /* now */ set x to 1',
    'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY',
    'SET ROLE other',
    'SET "quoted" = 1',
    'LISTEN a',
    "LOAD 'auto_explain'",
    'PREPARE a AS SELECT 1',
    'DEALLOCATE ALL',
    'DISCARD ALL',
    'CREATE TEMPORARY TABLE a (b int)',
    'CREATE LOCAL TEMP TABLE a (b int)',
    'CREATE OR REPLACE TEMP VIEW a AS SELECT 1',
    'DECLARE a CURSOR WITH HOLD FOR SELECT 1',
    'SELECT pg_try_advisory_lock_shared(1)',
    'WITH a AS (SELECT pg_advisory_lock(1)) SELECT * FROM a',
    "SELECT set_config('a', $1, $2)",
    "SELECT set_config('a', '1', true), set_config('b', '1', false)",
    'SELECT a INTO TEMPORARY b FROM c',
    'SELECT a INTO /**/ LOCAL TEMP b FROM c',
    'CREATE TABLE pg_temp.a (b int)',
    'CREATE FUNCTION "pg_temp".a() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    'SELECT 1 AS a INTO pg_temp.b',
    'CREATE TEMP TABLE a (b int) /* not ON COMMIT DROP */',
    'CREATE TEMP TABLE a (b int) /* /* */ ON COMMIT DROP */',
    'CREATE TEMP TABLE a (b int) -- ON COMMIT DROP',
    "CREATE TEMP TABLE a (b text DEFAULT 'ON COMMIT DROP')",
    "CREATE TEMP TABLE a (b text DEFAULT E'\\\\' ON COMMIT DROP')",
    "CREATE TEMP TABLE a$x$ (b text DEFAULT 'ON COMMIT DROP$x$')",
    'CREATE TEMP TABLE a (b text DEFAULT $x$ ON COMMIT DROP $x$)',
    'CREATE TEMP TABLE "on commit drop" (a int)',
    'DECLARE a CURSOR WITH /**/ HOLD FOR SELECT 1',
    'EXPLAIN ANALYZE CREATE TEMP TABLE a AS SELECT 1',
    '/**/ explain (analyze, verbose) CREATE /**/ TEMP TABLE a AS SELECT 1',
    "UPDATE pg_catalog.pg_settings SET setting = '50' WHERE name = 'statement_timeout'",
    `SELECT U&"set\\005fconfig"('search_path', 'a', false)`,
    "SELECT set_config('a', '1', false /* , true) */)",
    "SELECT set_config('a', ', true)', false)",
    "SELECT \"set_config\"('a', '1', false), set_config('a', '1', true)",
    'SELECT setseed(0.5)',
    'DO $$ BEGIN SET search_path TO a; END $$',
    "/**/ do language plpgsql 'begin execute ''set a = 1''; end'",
  ])('%s', (sql) => expect(leavesSessionState(sql)).toBe(true));

  test.each([
    'SELECT 1',
    'SELECT temp FROM readings',
    'INSERT INTO temp (a) VALUES (1)',
    'WITH a AS (SELECT 1) INSERT INTO temp SELECT * FROM a',
    'UPDATE a SET b = 1',
    'SET LOCAL x = 1',
    'set local x to 1',
    'SET CONSTRAINTS ALL DEFERRED',
    'SET TRANSACTION READ ONLY',
    'SAVEPOINT a',
    'CREATE TABLE a (b int)',
    'CREATE TEMP TABLE a ON COMMIT DROP AS SELECT 1',
    'DECLARE a CURSOR FOR SELECT 1',
    "SELECT set_config('a', coalesce(nullif($1, ''), lower('B')), true)",
    "SELECT set_config('a', '1', TRUE ), set_config('b', '1', true)",
    'SELECT pg_try_advisory_xact_lock(1)',
    'NOTIFY a',
    'DELETE FROM a',
    'EXPLAIN ANALYZE SELECT 1',
    'SELECT name FROM pg_settings',
    "CREATE TEMP TABLE a$x$ (b text DEFAULT 'c') /* so */ ON COMMIT /* so */ DROP",
    "SELECT set_config('a', 'it''s (so', true)",
  ])('is not %s', (sql) => expect(leavesSessionState(sql)).toBe(false));
});

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
