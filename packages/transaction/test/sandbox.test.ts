import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type IConnection,
  type IDatabasePool,
  type IPooledConnection,
  runInTransaction,
  TransactionError,
  transactionOf,
} from '../src/index.js';
import { sandbox, type Sandbox, type SandboxOptions } from '../src/testing/index.js';
import { databases, openPostgres, openSqlite, type PostgresDatabase, type TestDatabase } from './support/databases.js';
import { requestScope } from './support/requests.js';

interface Note {
  readonly id: number;
}

/** A transaction on a connection of its own, as any code of an application runs it. */
async function inTransaction(on: IDatabasePool, work: (connection: IConnection) => Promise<unknown>): Promise<void> {
  await runInTransaction(requestScope(on), (scope) => work(scope.resolve<IConnection>('IConnection')));
}

const insert = (on: Pick<IDatabasePool, 'query'>, id: number): Promise<unknown> =>
  on.query('INSERT INTO notes (id) VALUES ($1)', [id]);

const ids = async (on: Pick<IDatabasePool, 'query'>): Promise<number[]> =>
  (await on.query<Note>('SELECT id FROM notes ORDER BY id')).map(({ id }) => id);

async function usingConnection(on: IDatabasePool): Promise<IPooledConnection & AsyncDisposable> {
  const connection = await on.getConnection();
  return Object.assign(connection, { [Symbol.asyncDispose]: async () => connection.release() });
}

/** A sandbox on a database of its own, with a table that has these rows. */
async function openWithNotes<Database extends TestDatabase>(open: () => Promise<Database>, ...stored: number[]) {
  const database = await open();
  const pool = database.pool();
  await pool.query('CREATE TABLE notes (id INTEGER PRIMARY KEY)');
  for (const id of stored) await insert(pool, id);
  return { database, pool, box: await sandbox(pool) };
}

describe.each(databases)('a sandbox on $name', ({ name, missing, open }) => {
  describe.skipIf(missing)('is a pool for one test', () => {
    let database: TestDatabase;
    let pool: IDatabasePool;
    let box: Sandbox;

    beforeEach(async () => void ({ database, pool, box } = await openWithNotes(open, 0)));
    afterEach(async () => {
      await box.rollback();
      await database.drop();
    });

    test('sees what was stored before, and what was committed in it', async () => {
      await insert(box, 1);
      await inTransaction(box, (connection) => insert(connection, 2));
      expect(await ids(box)).toEqual([0, 1, 2]);
    });

    test('undoes commits, single statements and tables, and returns the connection to the pool', async () => {
      await insert(box, 1);
      await inTransaction(box, (connection) => insert(connection, 2));
      const table = box.query('CREATE TABLE more (id INTEGER)');
      // It would commit everything before it.
      if (name === 'MariaDB') await expect(table).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
      else await table;
      await box.rollback();
      expect(await ids(pool)).toEqual([0]);
      await expect(pool.query('SELECT * FROM more')).rejects.toThrow(TransactionError);
      expect(pool.size).toMatchObject({ waiting: 0 });
      expect(pool.size?.idle).toBe(pool.size?.open);
    });

    test('undoes everything at the end of a block with `await using`', async () => {
      await box.rollback();
      {
        await using other = await sandbox(pool);
        await insert(other, 1);
      }
      expect(await ids(pool)).toEqual([0]);
    });

    test('begins at every isolation level, because its transactions run one after another', async () => {
      for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
        await runInTransaction(requestScope(box), (scope) => insert(scope.resolve('IConnection'), isolation.length), {
          isolation,
        });
      }
      expect(await ids(box)).toEqual([0, 12, 14, 15]);
    });

    test('calls what waits for COMMIT, although nothing is committed', async () => {
      const called: string[] = [];
      const run = (fail: boolean): Promise<void> =>
        runInTransaction(requestScope(box), async (scope) => {
          const transaction = transactionOf(scope);
          transaction?.beforeCommit(() => void called.push('before commit'));
          transaction?.afterRollback(() => void called.push('after rollback'));
          // The connection is free again by then.
          transaction?.afterCommit(async () => void called.push(`after commit: ${(await ids(box)).length}`), {
            before: 'response',
          });
          await insert(scope.resolve<IConnection>('IConnection'), 1);
          if (fail) throw new Error('wanted');
        });
      await expect(run(true)).rejects.toThrow('wanted');
      await run(false);
      expect(called).toEqual(['after rollback', 'before commit', 'after commit: 2']);
    });

    test('says what a second connection waits for', async () => {
      await box.rollback();
      // On MariaDB the connection of a sandbox is not used again, and another one takes its time.
      (await pool.getConnection()).release();
      box = await sandbox(pool, { acquireTimeoutMs: 500 });
      const work = inTransaction(box, () => insert(box, 1));
      await expect(work).rejects.toMatchObject({
        code: 'AMBIT_TX_ACQUIRE_TIMEOUT',
        message: expect.stringMatching(
          /^Waited 500 ms for the one connection of the sandbox, .* must release it before/,
        ),
      });
      const nothing = async (): Promise<void> => undefined;
      const second = runInTransaction(requestScope(box), (scope) =>
        runInTransaction(scope, nothing, { propagation: 'requires-new' }),
      );
      await expect(second).rejects.toThrow(/connection of the sandbox.* A requires-new run needs a second connection/s);
      expect(await ids(box)).toEqual([0]);
    });

    test('runs statements that were not awaited one after another', async () => {
      const connection = await box.getConnection();
      const results = await Promise.allSettled([1, 1, 2, 2, 3].map((id) => insert(connection, id)));
      connection.release();
      expect(results.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      expect(await ids(box)).toEqual([0, 1, 2, 3]);
    });

    test.each<SandboxOptions>([
      { acquireTimeoutMs: -1 },
      { maxWaiting: 0.5 },
      { lockTimeoutMs: Number.NaN },
      { isolation: 'snapshot' as 'serializable' },
    ])('refuses the option %j, and takes no connection', async (options) => {
      await box.rollback();
      await expect(sandbox(pool, options)).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
      expect(pool.size?.idle).toBe(pool.size?.open);
    });
  });
});

describe('a sandbox on SQLite', () => {
  test('refuses everything once SQLite has rolled the whole transaction back, and nothing is stored', async () => {
    const database = await openSqlite();
    const pool = database.pool();
    await pool.query('CREATE TABLE notes (id INTEGER PRIMARY KEY)');
    const box = await sandbox(pool);
    await insert(box, 1);
    const connection = await box.getConnection();
    await connection.beginTransaction();
    await expect(connection.query('INSERT OR ROLLBACK INTO notes (id) VALUES (1)')).rejects.toMatchObject({
      sqlState: '23505',
    });
    const lost = { code: 'AMBIT_TX_CONNECTION_LOST', message: expect.stringMatching(/^The sandbox has lost/) };
    await expect(insert(connection, 2)).rejects.toMatchObject(lost);
    connection.release();
    await expect(insert(box, 3)).rejects.toMatchObject(lost);
    await expect(box.getConnection()).rejects.toMatchObject(lost);
    await box.rollback();
    expect(await ids(pool)).toEqual([]);
    await database.drop();
  });

  test('holds the lock to write, so the next sandbox on the file begins when it is rolled back', async () => {
    const database = await openSqlite();
    const pool = database.pool();
    const first = await sandbox(pool);
    await expect(sandbox(pool, { acquireTimeoutMs: 10 })).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
    const second = sandbox(pool);
    await first.rollback();
    await (await second).rollback();
    await database.drop();
  });
});

describe.each(databases.filter(({ hasSeveralWriters }) => hasSeveralWriters))(
  'a sandbox on $name',
  ({ missing, open }) => {
    describe.skipIf(missing)('beside another one', () => {
      let database: TestDatabase;
      let pool: IDatabasePool;
      let box: Sandbox;

      beforeEach(async () => void ({ database, pool, box } = await openWithNotes(open)));
      afterEach(async () => {
        await box.rollback();
        await database.drop();
      });

      test('does not see the data of another one', async () => {
        await using other = await sandbox(pool);
        await insert(box, 1);
        await insert(other, 2);
        expect([await ids(box), await ids(other), await ids(pool)]).toEqual([[1], [2], []]);
      });

      test('waits only so long for a row that another one has written, and says so', async () => {
        await using other = await sandbox(pool, { lockTimeoutMs: 20 });
        await insert(box, 1);
        await expect(insert(other, 1)).rejects.toMatchObject({ sqlState: '55P03', unavailable: true });
        await insert(other, 2);
        expect(await ids(other)).toEqual([2]);
      });

      test('stores nothing after a deadlock, whichever of the two it undoes', async () => {
        await insert(pool, 1);
        await insert(pool, 2);
        await using other = await sandbox(pool);
        const [one, two] = [await box.getConnection(), await other.getConnection()];
        for (const connection of [one, two]) await connection.beginTransaction();
        const remove = (on: typeof one, id: number): Promise<unknown> =>
          on.query('DELETE FROM notes WHERE id = $1', [id]);
        await remove(one, 1);
        await remove(two, 2);
        const outcomes = await Promise.allSettled([remove(one, 2), remove(two, 1)]);
        expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
        await Promise.allSettled([insert(one, 3), insert(two, 4)]);
        for (const connection of [one, two]) connection.release();
        await box.rollback();
        await other.rollback();
        expect(await ids(pool)).toEqual([1, 2]);
      });
    });
  },
);

describe.skipIf(databases.every(({ name, missing }) => name !== 'PostgreSQL' || missing))(
  'a sandbox on PostgreSQL',
  () => {
    let database: PostgresDatabase;
    let pool: IDatabasePool;
    let box: Sandbox;

    beforeEach(async () => void ({ database, pool, box } = await openWithNotes(openPostgres)));
    afterEach(async () => {
      await box.rollback();
      await database.drop();
    });

    const backendOf = async (on: Pick<IDatabasePool, 'query'>): Promise<number> => {
      const [row] = await on.query<{ id: number }>('SELECT pg_backend_pid() AS id');
      return row?.id ?? 0;
    };

    test('refuses a COMMIT that violates a deferred constraint, and the constraint stays deferred', async () => {
      await pool.query('CREATE TABLE parts (id INTEGER PRIMARY KEY, note INTEGER)');
      await pool.query('ALTER TABLE parts ADD FOREIGN KEY (note) REFERENCES notes DEFERRABLE INITIALLY DEFERRED');
      await box.rollback();
      box = await sandbox(pool);
      const part = (on: Pick<IDatabasePool, 'query'>): Promise<unknown> =>
        on.query('INSERT INTO parts (id, note) VALUES (1, 7)');
      await expect(inTransaction(box, part)).rejects.toMatchObject({
        code: 'AMBIT_TX_COMMIT_FAILED',
        sqlState: '23503',
      });
      await expect(part(box)).rejects.toMatchObject({ sqlState: '23503' });
      await inTransaction(box, async (connection) => {
        await part(connection);
        await insert(connection, 7);
      });
      expect(await ids(box)).toEqual([7]);
    });

    test('has one value of now() for all of its transactions, as it is one transaction to the server', async () => {
      const now = async (): Promise<unknown> => (await box.query('SELECT now()::text AS now'))[0];
      const first = await now();
      await pause(2);
      expect(await now()).toEqual(first);
    });

    const settingsOf = async (on: Pick<IDatabasePool, 'query'>): Promise<unknown> =>
      (
        await on.query(`SELECT current_setting('lock_timeout') AS wait, current_setting('TimeZone') AS zone, current_user AS role,
          current_setting('search_path') AS path, coalesce(current_setting('app.tenant', true), '') AS tenant`)
      )[0];

    test.each([
      ["SET LOCAL lock_timeout = '9ms'"],
      ["set local app.tenant TO 'acme'"],
      ['/* of a job */ SET LOCAL "app"."tenant" = \'acme\''],
      ["SET LOCAL TIME ZONE 'Asia/Tokyo'"],
      ['SET LOCAL ROLE pg_monitor'],
      ["SELECT set_config('app.tenant', $1, true)", 'acme'],
      ["SELECT set_config($1, $2, true), set_config('lock_timeout', '9ms', true)", 'app.tenant', 'acme'],
      ["SET search_path = 'elsewhere'"],
      ["SELECT set_config('app.tenant', 'acme', false)"],
      ['SET ROLE pg_monitor'],
    ])('ends with the transaction, or with its session, what was set by %s', async (sql, ...values) => {
      const before = await settingsOf(box);
      for (const end of ['commit', 'rollback'] as const) {
        await using connection = await usingConnection(box);
        await connection.beginTransaction();
        await connection.query('SAVEPOINT half');
        await connection.query(sql, values);
        await connection.query('RELEASE SAVEPOINT half');
        expect(await settingsOf(connection)).not.toEqual(before);
        await connection[end]();
      }
      expect(await settingsOf(box)).toEqual(before);
      await box.query(sql, values);
      expect(await settingsOf(box)).toEqual(before);
    });

    test('keeps a setting of the session for as long as its connection is checked out', async () => {
      await using connection = await usingConnection(box);
      await connection.query("SET lock_timeout = '9ms'");
      await connection.beginTransaction();
      await connection.query("SET LOCAL lock_timeout = '8ms'");
      await connection.commit();
      expect(await settingsOf(connection)).toMatchObject({ wait: '9ms' });
    });

    test('commits after the name of a setting was refused', async () => {
      await inTransaction(box, async (connection) => {
        await connection.query('SAVEPOINT half');
        await expect(connection.query("SELECT set_config('-', '1', true)")).rejects.toMatchObject({
          sqlState: '42704',
        });
        await connection.query('ROLLBACK TO SAVEPOINT half');
        await insert(connection, 1);
      });
      expect(await ids(box)).toEqual([1]);
    });

    test('begins at the isolation level that it was asked for', async () => {
      await box.rollback();
      box = await sandbox(pool, { isolation: 'serializable' });
      expect(await box.query('SHOW transaction_isolation')).toEqual([{ transaction_isolation: 'serializable' }]);
    });

    test('refuses everything once its connection is lost, and the pool works on', async () => {
      await insert(box, 1);
      await database.admin.query('SELECT pg_terminate_backend($1)', [await backendOf(box)]);
      await expect(insert(box, 2)).rejects.toMatchObject({ code: expect.stringMatching(/LOST|STATEMENT_FAILED/) });
      const lost = { code: 'AMBIT_TX_CONNECTION_LOST', message: expect.stringMatching(/^The sandbox has lost/) };
      await expect(insert(box, 2)).rejects.toMatchObject(lost);
      await expect(box.getConnection()).rejects.toMatchObject(lost);
      await box.rollback();
      expect(await ids(pool)).toEqual([]);
    });

    test('works on after a client has disconnected during a statement', async () => {
      const client = new AbortController();
      const request = requestScope(box);
      const work = runInTransaction(
        request,
        async (scope) => {
          const connection = scope.resolve<IConnection>('IConnection');
          await insert(connection, 1);
          setImmediate(() => client.abort());
          await connection.query('SELECT pg_sleep(30)');
        },
        { signal: client.signal, cancelAfterMs: 10 },
      );
      await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      await insert(box, 2);
      expect(await ids(box)).toEqual([2]);
    });

    test('cancels a statement that still runs when it is rolled back, and closes the connection', async () => {
      await box.rollback();
      box = await sandbox(pool, { closeTimeoutMs: 10 });
      const backend = await backendOf(box);
      const connection = await box.getConnection();
      await connection.beginTransaction();
      const [statement] = await Promise.allSettled([connection.query('SELECT pg_sleep(30)'), box.rollback()]);
      expect(statement).toMatchObject({ status: 'rejected', reason: expect.any(TransactionError) });
      connection.release();
      const running = 'SELECT pid FROM pg_stat_activity WHERE pid = $1';
      await expect.poll(async () => (await database.admin.query(running, [backend])).rows).toEqual([]);
    });
  },
);
