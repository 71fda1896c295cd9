import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { IDatabasePool } from '../src/index.js';
import { leavesSessionState } from '../src/postgres/language.js';
import { hasPostgres } from '@ambit/test-kit';
import { openPostgres, type PostgresDatabase } from './support/databases.js';

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
