import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DatabasePool, Row } from '../src/index.js';
import { changesSession } from '../src/sqlite/language.js';
import { openSqlite } from './support/databases.js';

describe('what a statement leaves in its session on SQLite', () => {
  let database: Awaited<ReturnType<typeof openSqlite>>;
  let pool: DatabasePool;

  beforeEach(async () => {
    database = await openSqlite();
    pool = database.pool();
    await pool.query('CREATE TABLE stock (product TEXT)');
  });
  afterEach(() => database.drop());

  /** As the next user of the writer, of a reader, and of the pool itself sees it. */
  async function seen(sql: string): Promise<Row[][]> {
    const rows = [await pool.query(sql)];
    for (const readOnly of [false, true]) {
      const connection = await pool.getConnection({ readOnly });
      rows.push(await connection.query(sql));
      connection.release();
    }
    return rows;
  }

  test.each([
    ['PRAGMA foreign_keys = OFF', 'PRAGMA foreign_keys'],
    ['/* so */ pragma main.synchronous(0)', 'PRAGMA synchronous'],
    ['PRAGMA query_only = OFF', 'PRAGMA query_only'],
    ['PRAGMA query_only = ON', 'PRAGMA query_only'],
    ["ATTACH ':memory:' AS other", 'PRAGMA database_list'],
    ['CREATE TEMP TABLE stock (other TEXT)', 'PRAGMA table_info(stock)'],
    ['CREATE TABLE IF NOT EXISTS temp.stock (other TEXT)', 'PRAGMA table_info(stock)'],
    ['CREATE TABLE "temp".stock (other TEXT)', 'PRAGMA table_info(stock)'],
    ['CREATE TABLE [temp].stock (other TEXT)', 'PRAGMA table_info(stock)'],
    ['CREATE TABLE `temp` . stock (other TEXT)', 'PRAGMA table_info(stock)'],
    ["CREATE TABLE 'temp'.stock (other TEXT)", 'PRAGMA table_info(stock)'],
    ['EXPLAIN PRAGMA query_only = ON', 'PRAGMA query_only'],
    ['explain /* so */ query plan pragma foreign_keys = OFF', 'PRAGMA foreign_keys'],
    ['PRAGMA foreign_keys = OFF -- user_version', 'PRAGMA foreign_keys'],
  ])('does not reach the next user: %s', async (change, look) => {
    const before = await seen(look);
    for (const readOnly of [false, true]) {
      const connection = await pool.getConnection({ readOnly });
      await connection.query(change).catch(() => undefined);
      connection.release();
    }
    await pool.query(change).catch(() => undefined);
    expect(await seen(look)).toEqual(before);
    await pool.query("INSERT INTO stock (product) VALUES ('fig')");
    expect(await pool.query('SELECT product FROM stock')).toEqual([{ product: 'fig' }]);
  });

  test.each(['PRAGMA query_only = OFF', 'explain pragma main."query_only"(0)'])(
    'does not let a read-only transaction write: %s',
    async (change) => {
      const connection = await pool.getConnection({ readOnly: true });
      await connection.beginTransaction({ readOnly: true });
      await expect(connection.query(change)).rejects.toMatchObject({ sqlState: '25006' });
      await expect(connection.query("INSERT INTO stock VALUES ('fig')")).rejects.toMatchObject({ sqlState: '25006' });
      expect(await connection.query('PRAGMA query_only')).toEqual([{ query_only: 1 }]);
      await connection.rollback();
      connection.release();
      expect(await pool.query('SELECT * FROM stock')).toEqual([]);
    },
  );

  test.each([
    'EXPLAIN QUERY PLAN UPDATE stock SET product = 1',
    'explain delete from stock',
    '-- so\nEXPLAIN SELECT * FROM stock',
  ])('commits after %s', async (explain) => {
    for (const product of ['fig', 'plum']) {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      expect((await connection.query(explain)).length).toBeGreaterThan(0);
      await connection.query('INSERT INTO stock VALUES ($1)', [product]);
      await connection.commit();
      connection.release();
      await pool.query('VACUUM');
    }
    expect(await pool.query('SELECT product FROM stock')).toHaveLength(2);
  });

  test('is no plan that reads what tables were before they were changed', async () => {
    const explain = 'EXPLAIN DELETE FROM stock';
    for (let round = 0; round < 300; round++) {
      const plans = [await pool.query(explain), (await pool.execute(explain)).rows];
      for (const plan of plans) expect(plan).toContainEqual(expect.objectContaining({ opcode: 'Clear', p4: 'stock' }));
      await pool.query('VACUUM');
    }
  });

  test.each([
    'SELECT 1',
    'CREATE TABLE temperatures (id INTEGER)',
    'PRAGMA foreign_keys',
    'PRAGMA table_info(stock)',
    'PRAGMA wal_checkpoint(TRUNCATE)',
    'PRAGMA user_version = 3',
  ])('is nothing after %s, which keeps its connection', (sql) => {
    expect(changesSession(sql)).toBe(false);
  });
});
