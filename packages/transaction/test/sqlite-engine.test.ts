import { once } from 'node:events';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../src/clock.js';
import { type SqliteEngine, sqlitePoolOver } from '../src/extension.js';
import { type DatabasePool, type IConnection, runInTransaction } from '../src/index.js';
import { Pool } from '../src/pool/pool.js';
import { SqliteDriver } from '../src/sqlite/driver.js';
import { losesCommits } from '../src/sqlite/engine.js';
import { createSqlitePool } from '../src/sqlite/index.js';
import { loadSqlite } from '../src/sqlite/node-sqlite.js';
import { readSqliteOptions } from '../src/sqlite/options.js';
import { openSqlite } from './support/databases.js';
import { requestScope } from './support/requests.js';

test.each([
  ['3.6.23', false],
  ['3.7.0', true],
  ['3.44.5', true],
  ['3.44.6', false],
  ['3.45.1', true],
  ['3.50.6', true],
  ['3.50.7', false],
  ['3.51.2', true],
  ['3.51.3', false],
  ['3.53.4', false],
])('SQLite %s loses commits of several processes: %s', (version, loses) => expect(losesCommits(version)).toBe(loses));

test('the SQLite of this Node, or the one that stands in for it, can share a file', () => {
  expect(losesCommits(loadSqlite().version)).toBe(false);
});

describe('over one file', () => {
  let database: Awaited<ReturnType<typeof openSqlite>>;
  let path: string;
  let pool: DatabasePool;
  beforeEach(async () => {
    database = await openSqlite();
    ({ path } = database);
  });
  afterEach(async () => {
    await pool.close();
    await database.drop();
  });

  const insert = (): Promise<unknown> =>
    runInTransaction(requestScope(pool), (scope) =>
      scope.resolve<IConnection>('IConnection').query("INSERT INTO stock VALUES ('fig')"),
    );

  describe.each<[string, (version: string) => DatabasePool]>([
    [
      'createSqlitePool()',
      (version) => {
        const settings = readSqliteOptions({ path });
        return new Pool(new SqliteDriver({ ...loadSqlite(), version }, settings), settings);
      },
    ],
    [
      'a pool over another driver',
      (version) => {
        const engine = loadSqlite().open(path, 0);
        engine.exec('PRAGMA journal_mode = WAL');
        return sqlitePoolOver(ofVersion(version, engine), {});
      },
    ],
  ])('%s', (_name, open) => {
    test('with a version that loses commits keeps other processes out, and says so', async () => {
      const warned = once(process, 'warning');
      pool = open('3.45.1');
      await pool.query('CREATE TABLE stock (product TEXT)');
      const [warning] = (await warned) as [Error];
      expect(warning).toMatchObject({
        code: 'AMBIT_TX_BUSY',
        message: expect.stringContaining('SQLite 3.45.1'),
      });
      await insert();
      const other = loadSqlite().open(path, 0);
      for (const sql of ['PRAGMA wal_checkpoint', 'SELECT * FROM stock', "INSERT INTO stock VALUES ('plum')"])
        expect(() => other.exec(sql)).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
      other.close();
      expect(await pool.query('SELECT * FROM stock')).toHaveLength(1);
    });

    test('with a version that does not shares the file', async () => {
      pool = open('3.51.3');
      await pool.query('CREATE TABLE stock (product TEXT)');
      const other = loadSqlite().open(path, 0);
      other.exec("INSERT INTO stock VALUES ('plum')");
      await insert();
      other.close();
      expect(await pool.query('SELECT * FROM stock')).toHaveLength(2);
    });
  });

  test('a pool over another driver waits for a process that has the file to itself just then', async () => {
    const other = loadSqlite().open(path, 0);
    other.exec(
      'PRAGMA journal_mode = WAL; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE stock (product TEXT); COMMIT',
    );
    pool = sqlitePoolOver(loadSqlite().open(path, 0), { acquireTimeoutMs: 120_000 });
    const rows = pool.query('SELECT * FROM stock');
    other.close();
    expect(await rows).toEqual([]);
  });

  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };

  describe.each<[string, () => DatabasePool]>([
    ['createSqlitePool()', () => createSqlitePool({ path, clock })],
    ['a pool over another driver', () => sqlitePoolOver(loadSqlite().open(path, 0), { clock })],
  ])('%s', (_name, open) => {
    test.each([
      ['deleted', () => rmSync(path), 'was deleted or moved while it was in use'],
      ['moved', () => renameSync(path, `${path}.elsewhere`), 'was deleted or moved while it was in use'],
      [
        'replaced',
        () => {
          writeFileSync(`${path}.other`, '');
          renameSync(path, `${path}.elsewhere`);
          renameSync(`${path}.other`, path);
        },
        'was replaced by another file while it was in use',
      ],
    ])('stores nothing in a file that was %s a second ago', async (_what, change, says) => {
      pool = open();
      await pool.query('CREATE TABLE stock (product TEXT)');
      change();
      ahead += 1000;
      const fault = { code: 'AMBIT_TX_FILE', sqlState: '58030', cause: { message: expect.stringContaining(says) } };
      await expect(insert()).rejects.toMatchObject(fault);
      await expect(pool.query("INSERT INTO stock VALUES ('fig')")).rejects.toMatchObject(fault);
      await expect(pool.query('SELECT 1')).rejects.toMatchObject(fault);
      if (!existsSync(`${path}.elsewhere`)) return;
      renameSync(`${path}.elsewhere`, path);
      await insert();
      expect(await pool.query('SELECT * FROM stock')).toHaveLength(1);
    });

    test('does not commit into a file that was deleted during the transaction', async () => {
      pool = open();
      await pool.query('CREATE TABLE stock (product TEXT)');
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query("INSERT INTO stock VALUES ('fig')");
      rmSync(path);
      ahead += 1000;
      await expect(connection.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_FILE' });
      connection.release(true);
    });
  });
});

/** The engine, which says that it is another version of SQLite. */
function ofVersion(version: string, engine: SqliteEngine): SqliteEngine {
  return {
    get isOpen() {
      return engine.isOpen;
    },
    get inTransaction() {
      return engine.inTransaction;
    },
    exec: (sql) => engine.exec(sql),
    prepare: (sql) => engine.prepare(sql.replace('sqlite_version()', `'${version}'`)),
    close: () => engine.close(),
  };
}
