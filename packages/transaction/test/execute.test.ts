import { Container } from '@ambit/container';
import { hasPostgres } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import {
  type DatabasePool,
  type IConnection,
  type IDatabasePool,
  type IPooledConnection,
  runInTransaction,
} from '../src/index.js';
import { executeOn } from '../src/extension.js';
import { beginTransaction } from '../src/host.js';
import { FakePool } from '../src/testing/index.js';
import { openPostgres, openSqlite, type PostgresDatabase } from './support/databases.js';
import { connectionWith, poolWith } from './support/foreign-pool.js';
import { requestScope } from './support/requests.js';

describe('execute() on SQLite', () => {
  test('gives the id of the row that an INSERT stored last, and of no other statement', async () => {
    const database = await openSqlite();
    try {
      const pool = database.pool();
      await pool.execute('CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE)');
      const insert = 'INSERT INTO notes (body) VALUES ($1), ($2)';
      expect(await pool.execute(insert, ['a', 'b'])).toMatchObject({ rowCount: 2, insertId: 2 });

      for (const other of ["UPDATE notes SET body = 'c' WHERE id = 1", `INSERT OR IGNORE INTO notes VALUES (1, 'd')`]) {
        expect(await pool.execute(other)).not.toHaveProperty('insertId');
      }
    } finally {
      await database.drop();
    }
  });
});

describe('execute() on the connection of a transaction', () => {
  test('waits for its turn, and is refused after the end', async () => {
    const pool = new FakePool();
    const transaction = await beginTransaction(requestScope(pool));
    const { connection } = transaction;
    const all = [connection.query('INSERT 1'), connection.execute('INSERT 2'), connection.query('INSERT 3')];
    await Promise.all(all);
    await transaction.commit();
    expect(pool.stored).toEqual(['INSERT 1', 'INSERT 2', 'INSERT 3']);
    await expect(connection.execute('INSERT 4')).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    expect(pool.violations).toEqual([]);
  });

  test('marks the transaction as failed where it fails, and is refused after a failure', async () => {
    let kind: 'none' | 'refused' = 'refused';
    const pool = new FakePool({ faultAt: (point) => ({ ms: 0, kind: point === 'query' ? kind : 'none' }) });
    const transaction = await beginTransaction(requestScope(pool));
    await expect(transaction.connection.execute('INSERT 1')).rejects.toMatchObject({ sqlState: '55000' });
    kind = 'none';
    await expect(transaction.connection.execute('INSERT 2')).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
    await expect(transaction.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
    expect(pool.stored).toEqual([]);
  });

  test('is refused outside of the nested run in progress, and as a COMMIT', async () => {
    const pool = new FakePool();
    await runInTransaction(requestScope(pool), async (scope) => {
      const outer = scope.resolve<IConnection>('IConnection');
      await expect(outer.execute('COMMIT')).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
    });
    expect(pool.violations).toEqual([]);
  });

  test('of a pool that has only query() is refused, with what to do, and the transaction goes on', async () => {
    const fake = new FakePool();
    const pool = withoutExecute(fake);
    const transaction = await beginTransaction(requestScope(pool));
    await expect(transaction.connection.execute('INSERT 1')).rejects.toMatchObject({
      code: 'AMBIT_TX_UNSUPPORTED',
      message: expect.stringMatching(
        /this pool and its connections have only query\(\)\. Use a pool that can do it, or add/,
      ),
    });
    await transaction.connection.query('INSERT 2');
    await transaction.commit();
    expect(fake.stored).toEqual(['INSERT 2']);
    await expect(executeOn(pool, 'INSERT 3')).rejects.toMatchObject({ code: 'AMBIT_TX_UNSUPPORTED' });
    expect(await executeOn(fake, 'INSERT 3')).toMatchObject({ command: 'INSERT', rows: [] });
  });

  test('is there on what a pool of this package hands out, and may be missing elsewhere', () => {
    expectTypeOf<Awaited<ReturnType<DatabasePool['getConnection']>>>().toExtend<IConnection>();
    expectTypeOf<DatabasePool>().toExtend<IDatabasePool>();
    expectTypeOf<IPooledConnection>().not.toExtend<IConnection>();
  });
});

test('SQLite says that it has no types to choose a parser by', async () => {
  const database = await openSqlite();
  const types = { getTypeParser: () => String };
  const pool = database.pool();
  await expect(executeOn(pool, 'SELECT 1', [], { types })).rejects.toMatchObject({
    code: 'AMBIT_TX_UNSUPPORTED',
    message: expect.stringContaining('this database does not number its types'),
  });
  await database.drop();
});

describe.skipIf(!hasPostgres)('execute() on PostgreSQL', () => {
  let database: PostgresDatabase;
  let app: Container;
  beforeEach(async () => {
    database = await openPostgres();
    app = new Container();
    const pool = database.pool({ max: 1 });
    app.register('IDatabasePool', () => pool);
  });
  afterEach(() => database.drop());
  const inTransaction = <T>(work: (connection: IConnection) => Promise<T>): Promise<T> =>
    runInTransaction(app, (scope) => work(scope.resolve('IConnection')));

  test('parses values as the caller says, once and again for the same statement, and query() keeps its own way', async () => {
    const sql = "SELECT DATE '2024-02-29' AS day, 5 AS five";
    const types = { getTypeParser: (oid: number) => (text: string) => `${oid}:${text}` };
    await inTransaction(async (connection) => {
      const parsed = { rows: [{ day: '1082:2024-02-29', five: '23:5' }], rowCount: 1, command: 'SELECT' };
      expect(await connection.execute(sql, [], { types })).toMatchObject(parsed);
      expect(await connection.execute(sql, [], { types })).toMatchObject(parsed);
      const arrays = await connection.execute(sql, [], { types, rowMode: 'array' });
      expect(arrays.rows).toEqual([['1082:2024-02-29', '23:5']]);
      expect(arrays.fields).toEqual([
        { name: 'day', dataTypeID: 1082 },
        { name: 'five', dataTypeID: 23 },
      ]);
      expect(await connection.query(sql)).toEqual([{ day: expect.any(Date), five: 5 }]);
    });
  });

  test.each([
    ['getTypeParser() throws', { getTypeParser: (): never => fail() }],
    ['the parser throws', { getTypeParser: () => (): never => fail() }],
  ])('fails the statement where %s, and nothing else', async (_what, types) => {
    const executed = inTransaction((connection) => connection.execute('SELECT 1 AS one', [], { types }));
    await expect(executed).rejects.toMatchObject({ cause: { message: 'no parser' } });
    expect(await inTransaction((connection) => connection.query('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
  });
});

function fail(): never {
  throw new Error('no parser');
}

/** A pool as it was written before there was an execute(). */
function withoutExecute(pool: FakePool): IDatabasePool {
  return poolWith(pool, async (options) => connectionWith(await pool.getConnection(options), {}));
}
