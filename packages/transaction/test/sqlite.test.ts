import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../src/clock.js';
import { type DatabasePool, type IConnection, runInTransaction } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { createSqlitePool } from '../src/sqlite/index.js';
import { openSqlite } from './support/databases.js';
import { requestScope } from './support/requests.js';
import { poolWith } from './support/foreign-pool.js';

describe('transactions on SQLite', () => {
  let database: Awaited<ReturnType<typeof openSqlite>>;
  let pool: DatabasePool;

  beforeEach(async () => {
    database = await openSqlite();
    pool = database.pool();
    await pool.query('CREATE TABLE stock (product TEXT PRIMARY KEY, level INTEGER NOT NULL)');
    await pool.query("INSERT INTO stock VALUES ('apple', 0)");
  });
  afterEach(() => database.drop());

  const level = async (): Promise<unknown> => (await pool.query('SELECT level FROM stock'))[0]?.['level'];
  const addOne = async (connection: IConnection): Promise<void> => {
    const [row] = await connection.query<{ level: number }>('SELECT level FROM stock');
    await connection.query('UPDATE stock SET level = $1', [(row?.level ?? 0) + 1]);
  };

  test('opens the file durable, with foreign keys, and with readers beside the writer', async () => {
    const connection = await pool.getConnection();
    expect(await connection.query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
    expect(await connection.query('PRAGMA synchronous')).toEqual([{ synchronous: 2 }]);
    expect(await connection.query('PRAGMA foreign_keys')).toEqual([{ foreign_keys: 1 }]);
    connection.release();
  });

  test('reads without waiting for the writer, and sees what is committed only', async () => {
    const writer = await pool.getConnection();
    await writer.beginTransaction();
    await writer.query('UPDATE stock SET level = 7');
    expect(await level()).toBe(0);
    await writer.commit();
    expect(await level()).toBe(7);
    writer.release();
  });

  test('gives a read-only transaction one snapshot, beside a writer', async () => {
    const reader = await pool.getConnection({ readOnly: true });
    await reader.beginTransaction({ readOnly: true });
    expect(await reader.query('SELECT level FROM stock')).toEqual([{ level: 0 }]);
    await pool.query('UPDATE stock SET level = 7');
    expect(await reader.query('SELECT level FROM stock')).toEqual([{ level: 0 }]);
    await reader.commit();
    reader.release();
    expect(await level()).toBe(7);
  });

  test('keeps no time over what is done when the call returns', async () => {
    const times: number[] = [];
    const setTimer: Clock['setTimer'] = (fn, ms) => {
      times.push(ms);
      return systemClock.setTimer(fn, ms);
    };
    const clock = { ...systemClock, setTimer };
    // In the turn in which the pool was used before, it may wait for the next one.
    await new Promise(setImmediate);
    const transaction = await beginTransaction(requestScope(pool), { clock, timeoutMs: 1000, endTimeoutMs: 2000 });
    await addOne(transaction.connection);
    expect(times.splice(0)).toEqual([1000]);
    await transaction.commit();
    // The scope may still take its time.
    expect(times).toEqual([2000]);
  });

  test('commits after a statement that had to wait for another connection', async () => {
    let foundBusy = (): void => undefined;
    const busy = new Promise<void>((resolve) => (foundBusy = resolve));
    const setTimer: Clock['setTimer'] = (fn, ms) => {
      foundBusy();
      return systemClock.setTimer(fn, ms);
    };
    const waiter = createSqlitePool({ path: database.path, clock: { ...systemClock, setTimer } });
    const writer = await pool.getConnection();
    await writer.beginTransaction();
    const waiting = waiter.query("INSERT INTO stock VALUES ('fig', 1)");
    await busy;
    await writer.commit();
    writer.release();
    await waiting;
    await runInTransaction(requestScope(waiter), (scope) => addOne(scope.resolve<IConnection>('IConnection')));
    expect(await level()).toBe(1);
    await waiter.close();
  });

  test('commits after a statement that timed out waiting for another connection', async () => {
    const writer = await pool.getConnection();
    await writer.beginTransaction();
    const hasty = createSqlitePool({ path: database.path, acquireTimeoutMs: 100 });
    const statements = ["INSERT INTO stock VALUES ('fig', 1)", "DELETE FROM stock WHERE product = 'x' RETURNING level"];
    for (const sql of statements) await expect(hasty.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_BUSY' });
    await writer.rollback();
    writer.release();
    await runInTransaction(requestScope(hasty), (scope) => addOne(scope.resolve<IConnection>('IConnection')));
    expect(await level()).toBe(1);
    await hasty.close();
  });

  test('does not let a reader begin to write', async () => {
    const reader = await pool.getConnection({ readOnly: true });
    await expect(reader.beginTransaction()).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
    reader.release();
  });

  test('writes through query() wait their turn too', async () => {
    const writer = await pool.getConnection();
    await writer.beginTransaction();
    await writer.query('UPDATE stock SET level = 7');
    const write = pool.query('UPDATE stock SET level = level + 1 RETURNING level');
    await writer.commit();
    writer.release();
    expect(await write).toEqual([{ level: 8 }]);
  });

  test('stores whole numbers as INTEGER', async () => {
    expect(await pool.query('SELECT typeof($1) AS five, typeof($2) AS half', [5, 0.5])).toEqual([
      { five: 'integer', half: 'real' },
    ]);
  });

  test.each([
    ["INSERT INTO stock VALUES ('apple', 1)", '23505'],
    ["INSERT INTO stock VALUES ('pear', NULL)", '23502'],
    ['SELECT * FROM no_such_table', '42P01'],
    ['', '42000'],
    ['SELECT 1; SELECT 2', '42601'],
    // PostgreSQL would read one statement.
    ['SELECT 1 /* /* */; DELETE FROM stock /* */ */', '42601'],
    [String.raw`SELECT e'\'; DELETE FROM stock --'`, '42601'],
    ['SELECT $a$; DELETE FROM stock WHERE product <> $a$', '42601'],
    ['CREATE TABLE a (trigger int, begin int); CREATE TABLE b (c int)', '42601'],
    [
      'CREATE TRIGGER t AFTER INSERT ON stock BEGIN UPDATE stock SET level = new.begin; END; CREATE TABLE b (c int)',
      '42601',
    ],
    ['CREATE TRIGGER t AFTER INSERT ON stock BEGIN UPDATE stock SET begin = 1; END; CREATE TABLE b (c int)', '42601'],
  ])('says of %j what went wrong', async (sql, sqlState) => {
    await expect(pool.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState });
  });

  test.each([{ path: '' }, { path: ':memory:', maxReaders: 0 }, { path: ':memory:', acquireTimeoutMs: -1 }])(
    'refuses the options %j',
    (options) => {
      expect(() => createSqlitePool(options)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
    },
  );

  test.each(['-- LIMIT 1', '/* first LIMIT 1', 'UNION ALL SELECT 2 /* LIMIT */ LIMIT 2'])(
    'takes no comment for a limit: %j',
    async (end) => {
      await pool.query("INSERT INTO stock VALUES ('pear', 0)");
      expect(await pool.query(`SELECT level FROM stock ${end}`)).toHaveLength(2);
    },
  );

  test('gives every row of what only explains a statement that gives one', async () => {
    const rows = await pool.query('EXPLAIN SELECT level FROM stock LIMIT 1');
    expect(rows.length).toBeGreaterThan(1);
  });

  test('gives one row with its bytes, and with a column of whatever name', async () => {
    const sql = `SELECT x'0102' AS bytes, 'mine' AS "_metadata", level FROM stock LIMIT 1`;
    expect(await pool.query(sql)).toEqual([{ bytes: Buffer.from([1, 2]), _metadata: 'mine', level: 0 }]);
    expect(await pool.query(`SELECT x'0102' AS bytes FROM stock LIMIT 1`)).toEqual([{ bytes: Buffer.from([1, 2]) }]);
  });

  test('asks with the values of this caller, also when those of the last one failed', async () => {
    const sql = `SELECT json_extract($1, '$.name') AS name LIMIT 1`;
    await expect(pool.query(sql, ['{bad'])).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED' });
    expect(await pool.query(sql, ['{"name":"Ada"}'])).toEqual([{ name: 'Ada' }]);
  });

  test('holds no lock for a statement that failed', async () => {
    await expect(pool.query("INSERT INTO stock VALUES ('apple', 1)")).rejects.toMatchObject({ sqlState: '23505' });
    const other = database.pool();
    await other.query("INSERT INTO stock VALUES ('pear', 1)");
    expect(await other.query('PRAGMA wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]);
    await pool.query("INSERT INTO stock VALUES ('plum', 1)");
    expect(await other.query('SELECT product FROM stock ORDER BY product')).toHaveLength(3);
  });

  test('commits what a statement has stored that failed before, with other values, in the same transaction', async () => {
    const sql = 'INSERT INTO stock VALUES ($1, $2)';
    await runInTransaction(requestScope(pool), async (scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      await connection.query('SAVEPOINT before');
      await expect(connection.query(sql, ['apple', 1])).rejects.toMatchObject({ sqlState: '23505' });
      await connection.query('ROLLBACK TO before');
      await connection.query(sql, ['pear', 2]);
    });
    const other = database.pool();
    expect(await other.query("SELECT level FROM stock WHERE product = 'pear'")).toEqual([{ level: 2 }]);
    await other.query(sql, ['plum', 3]);
  });

  test('keeps what is in memory after a statement that found it locked', async () => {
    const inMemory = createSqlitePool({ path: ':memory:' });
    await inMemory.query('CREATE TABLE kept (id INTEGER)');
    const connection = await inMemory.getConnection();
    await connection.beginTransaction();
    await expect(connection.query('PRAGMA wal_checkpoint')).rejects.toMatchObject({ code: 'AMBIT_TX_BUSY' });
    await connection.rollback();
    connection.release();
    expect(await inMemory.query('SELECT id FROM kept')).toEqual([]);
    await inMemory.close();
  });

  test('holds no snapshot when it has given one row of many', async () => {
    await pool.query("INSERT INTO stock VALUES ('pear', 0)");
    await pool.query('SELECT level FROM stock LIMIT 1');
    await pool.query('UPDATE stock SET level = 7');
    expect(await pool.query('SELECT level FROM stock LIMIT 1')).toEqual([{ level: 7 }]);
    const writer = await pool.getConnection();
    expect(await writer.query('PRAGMA wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]);
    writer.release();
  });

  test('keeps working with more statements than it keeps prepared', async () => {
    for (let n = 0; n < 500; n += 1) expect(await pool.query(`SELECT ${n} AS n`)).toEqual([{ n }]);
  });

  describe('beside another process', () => {
    let other: ChildProcess;
    const tell = async (sql: string): Promise<void> => {
      other.send(sql);
      await once(other, 'message');
    };

    beforeEach(async () => {
      other = fork(fileURLToPath(new URL('support/other-process.mjs', import.meta.url)), [database.path]);
      await once(other, 'message');
    });
    afterEach(async () => {
      other.kill();
      await once(other, 'exit');
    });

    test('waits for its transaction without blocking the event loop', async () => {
      await tell('BEGIN IMMEDIATE');
      const connection = await pool.getConnection();
      // SQLite itself would wait with the thread.
      expect(await connection.query('PRAGMA busy_timeout')).toEqual([{ timeout: 0 }]);
      const begun = connection.beginTransaction();
      await tell('UPDATE stock SET level = 5');
      await tell('COMMIT');
      await begun;
      await addOne(connection);
      await connection.commit();
      connection.release();
      expect(await level()).toBe(6);
    });

    test('stops after the acquire time-out, and says that a retry may succeed', async () => {
      await tell('BEGIN IMMEDIATE');
      const busy = { code: 'AMBIT_TX_BUSY', retryable: true, unavailable: true };
      const impatient = database.pool({ acquireTimeoutMs: 50 });
      await expect(beginTransaction(requestScope(impatient))).rejects.toMatchObject(busy);
      await expect(impatient.query('UPDATE stock SET level = 1')).rejects.toMatchObject(busy);
      expect(await level()).toBe(0);
      await tell('COMMIT');
      await impatient.query('UPDATE stock SET level = 1');
    });

    test('runs the work again until the other is done', async () => {
      await tell('BEGIN IMMEDIATE');
      const impatient = database.pool({ acquireTimeoutMs: 0 });
      let third = (): void => undefined;
      const thirdAttempt = new Promise<void>((resolve) => (third = resolve));
      let attempts = 0;
      const counting = poolWith(impatient, (options) => {
        attempts += 1;
        if (attempts === 3) third();
        return impatient.getConnection(options);
      });
      const work = runInTransaction(
        requestScope(counting),
        (scope) => addOne(scope.resolve<IConnection>('IConnection')),
        { retries: 1000, backoffMs: 1 },
      );
      await thirdAttempt;
      await tell('COMMIT');
      await work;
      expect(await level()).toBe(1);
    });

    test('loses nothing when both write', async () => {
      const mine = Promise.all(
        Array.from({ length: 100 }, () =>
          runInTransaction(requestScope(pool), (scope) => addOne(scope.resolve<IConnection>('IConnection'))),
        ),
      );
      for (let n = 0; n < 100; n += 1) await tell('UPDATE stock SET level = level + 1');
      await mine;
      expect(await level()).toBe(200);
    });
  });
});
