import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as pause } from 'node:timers/promises';
import { Container, type IContainer } from '@ambit/container';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { unchecked } from '@ambit/transaction/check';
import {
  type DatabaseConnection,
  type DatabasePool,
  type IConnection,
  type IDatabasePool,
  type Propagation,
  runInTransaction,
} from '@ambit/transaction';
import { meansTheSameAfterMigrations } from './after-migrations.js';
import { inheritsNothing, type Leftover, type SharedDatabase } from './inherits-nothing.js';

/** How a test asks for a pool; what is not given is up to you. */
export interface PoolOptions {
  /** How many connections it opens at most. */
  readonly max?: number;
  /** How long a caller waits for a connection. */
  readonly acquireTimeoutMs?: number;
  /** How many callers may wait. */
  readonly maxWaiting?: number;
  /** How long `close()` waits for connections that are checked out. */
  readonly closeTimeoutMs?: number;
}

/** A database of a test's own: empty, and removed by `drop()`. */
export interface PoolsToTest extends SharedDatabase {
  /** Closes its pools, and removes it. */
  drop(): Promise<void>;
}

/** A database and a driver, and what they can do. */
export interface ContractDatabase {
  /** Its name in the titles of tests. */
  readonly name: string;
  /** True if its tests are skipped, because no server is there. */
  readonly missing?: boolean;
  /**
   * Opens an empty database. Each test has one of its own.
   *
   * @returns the database, which the test drops
   */
  open(): Promise<PoolsToTest>;
  /** One file with one lock to write: a BEGIN waits while another pool of the same database writes. */
  readonly beginWaits?: boolean;
  /** Several of its transactions write at a time, and may wait for each other. */
  readonly hasSeveralWriters?: boolean;
  /** Its pools have one connection, for reads as well. */
  readonly hasOneConnection?: boolean;
  /** A PostgreSQL server, which terminates a session that is idle in a transaction for too long. */
  readonly terminates?: boolean;
  /** It is PostgreSQL, which finds the types of parameters when it parses a statement. */
  readonly isPostgres?: boolean;
  /** Everything that a user of a connection could leave for the next one. */
  readonly leftovers?: readonly Leftover[];
  /** The driver's pool may have users besides ours: `elsewhere()` is one. */
  readonly hasOtherUsers?: boolean;
  /** How a COMMIT can be made to fail. Default: by a constraint that is deferred; nothing where none can. */
  readonly refusedCommit?: RefusedCommit | undefined;
  /** What it cannot guarantee: the title of the test, which is then expected to fail, and what happens instead. */
  readonly cannot?: Readonly<Record<string, string>>;
}

/** How a database can be made to refuse a COMMIT: by a constraint that it checks then, or only by losing the connection. */
export type RefusedCommit = 'deferred constraint' | 'killed connection';

/** Adds a test that a database may be expected to fail. */
export type AddPoolTest = (title: string, run: (database: PoolsToTest) => Promise<void>) => void;

/**
 * Adds the tests of what every pool guarantees, whichever database and driver it is over, for vitest.
 *
 * @param kind - opens pools on an empty database for each test, and says what it cannot guarantee
 * @param alone - adds further tests to the same suite
 *
 * @example
 * ```ts
 * import { type ContractDatabase, poolContract } from '@ambit/testing/pools';
 *
 * declare const myDatabase: ContractDatabase;
 * poolContract(myDatabase);
 * ```
 */
export function poolContract(
  kind: ContractDatabase,
  alone: (add: AddPoolTest, refusedCommit: RefusedCommit | undefined) => void = () => undefined,
): void {
  const { name: over, missing = false, open, beginWaits = false, terminates = false, hasSeveralWriters = false } = kind;
  const { hasOneConnection = false, isPostgres = false, leftovers = [], hasOtherUsers = false, cannot = {} } = kind;
  const refusedCommit = 'refusedCommit' in kind ? kind.refusedCommit : 'deferred constraint';
  describe.skipIf(missing)(`a pool over ${over} keeps its guarantees`, () => {
    const titles = new Set<string>();
    const keeps = (title: string): typeof test => {
      titles.add(title);
      return (title in cannot ? test.fails : test) as typeof test;
    };
    const it = (title: string, run: () => Promise<void>): void => keeps(title)(title, run);
    const each = <T>(title: string, cases: readonly T[], run: (value: T) => Promise<void>): void =>
      keeps(title).for(cases)(title, run);
    let database: PoolsToTest;
    let pool: DatabasePool;

    beforeEach(async () => {
      database = await open();
      pool = await database.pool({ max: 1 });
      await pool.query('CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE, weight DOUBLE PRECISION)');
    });
    afterEach(() => database.drop());

    const bodies = async (): Promise<string[]> => {
      const rows = await pool.query<{ body: string }>('SELECT body FROM notes ORDER BY id');
      return rows.map(({ body }) => body);
    };

    it('stores what is committed', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'kept']);
      await connection.commit();
      connection.release();
      expect(await bodies()).toEqual(['kept']);
    });

    it('publishes statements outside of a transaction, without their parameters, and none within one', async () => {
      const published: Record<string, unknown>[] = [];
      const receive = (message: unknown): void => void published.push(message as Record<string, unknown>);
      subscribe('ambit:statement:outside', receive);
      onTestFinished(() => void unsubscribe('ambit:statement:outside', receive));
      await pool.query('SELECT id FROM notes');
      const connection = await pool.getConnection();
      await connection.query('SELECT body FROM notes');
      await connection.query('SELECT missing FROM notes').catch(() => undefined);
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'a secret']);
      await connection.commit();
      connection.release();
      const milliseconds = expect.any(Number) as number;
      expect(published).toEqual([
        { sql: 'SELECT id FROM notes', milliseconds },
        { sql: 'SELECT body FROM notes', milliseconds },
        { sql: 'SELECT missing FROM notes', milliseconds, error: expect.any(Error) as Error },
      ]);
    });

    it('forgets what is rolled back', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'gone']);
      await connection.rollback();
      connection.release();
      expect(await bodies()).toEqual([]);
    });

    it('rolls back a connection that is released in a transaction, or destroys it', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'gone']);
      connection.release();
      expect(await bodies()).toEqual([]);
    });

    it('binds parameters by number, not by place, and leaves quoted text alone', async () => {
      const sql = `SELECT $2 || '' AS second, $1 || '' AS first, '$1' AS quoted, "body" FROM notes -- $3 $4`;
      await pool.query('INSERT INTO notes (id, body) VALUES ($2, $1)', ['text', 7]);
      expect(await pool.query(sql, ['one', 'two'])).toEqual([
        { second: 'two', first: 'one', quoted: '$1', body: 'text' },
      ]);
    });

    it('gives rows of the named columns and nothing else', async () => {
      await pool.query('INSERT INTO notes (id, body, weight) VALUES (1, $1, 1.5)', ['a']);
      const rows = await pool.query('SELECT * FROM notes WHERE id = $1', [1]);
      expect(rows).toEqual([{ id: 1, body: 'a', weight: 1.5 }]);
      expect(Object.keys(rows[0] ?? {})).toEqual(['id', 'body', 'weight']);
    });

    each('gives one row as it gives many: %j', ['LIMIT 1', 'limit\n 1 ', 'LIMIT 1 -- of two'], async (limit) => {
      const sql = `SELECT * FROM notes WHERE id > $1 ORDER BY id ${limit}`;
      expect(await pool.query(sql, [0])).toEqual([]);
      await pool.query("INSERT INTO notes (id, body, weight) VALUES (1, 'a', 1.5), (2, 'b', 2.5)");
      expect(await pool.query(sql, [0])).toEqual([{ id: 1, body: 'a', weight: 1.5 }]);
    });

    it('returns the rows of RETURNING, and none for a statement without rows', async () => {
      expect(await pool.query('INSERT INTO notes (id, body) VALUES (1, $1) RETURNING id, body', ['a'])).toEqual([
        { id: 1, body: 'a' },
      ]);
      expect(await pool.query('DELETE FROM notes')).toEqual([]);
    });

    each('returns all of %i rows', [0, 99, 100, 101, 250], async (count) => {
      const ids = Array.from({ length: count }, (_, index) => index + 1);
      if (count > 0) await pool.query(`INSERT INTO notes (id) VALUES ${ids.map((id) => `(${id})`).join()}`);
      const rows = await pool.query<{ id: number }>('DELETE FROM notes RETURNING id');
      expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(ids));
    });

    it('says in SQLSTATE what went wrong, whichever database it is', async () => {
      await pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['a']);
      const again = pool.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['a']);
      await expect(again).rejects.toMatchObject({
        code: 'AMBIT_TX_STATEMENT_FAILED',
        message: expect.stringMatching(/^The database refused a statement \(23505\)\./),
        sqlState: '23505',
        retryable: false,
      });
      const twice = pool.query('INSERT INTO notes (id) VALUES (1)');
      await expect(twice).rejects.toMatchObject({ sqlState: '23505', cause: expect.any(Error) });
    });

    it('refuses several statements in one query', async () => {
      await expect(pool.query('SELECT 1; SELECT 2')).rejects.toMatchObject({ sqlState: '42601' });
      await expect(pool.query('DELETE FROM notes; SELECT 1')).rejects.toMatchObject({ sqlState: '42601' });
    });

    it('refuses too few and too many parameters', async () => {
      await expect(pool.query('SELECT $1 || $2 AS x', ['a'])).rejects.toMatchObject({
        sqlState: '08P01',
        unavailable: false,
      });
      await expect(pool.query('SELECT $1 || $2 AS x', ['a', 'b', 'c'])).rejects.toMatchObject({ sqlState: '08P01' });
    });

    it('refuses text with a NUL', async () => {
      const insert = pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['cut\0here']);
      await expect(insert).rejects.toMatchObject({ sqlState: '22021' });
    });

    it('gives integers beyond the safe range as exact text, and all others as numbers', async () => {
      await pool.query('CREATE TABLE big (id BIGINT, small INTEGER, body TEXT)');
      const values = [9007199254740993n, -9223372036854775808n];
      for (const value of values) {
        const [row] = await pool.query('INSERT INTO big VALUES ($1, 7, $2) RETURNING id, small', [value, 'a']);
        expect(row).toEqual({ id: String(value), small: 7 });
        expect(await pool.query('SELECT id, small FROM big WHERE id = $1 LIMIT 1', [String(value)])).toEqual([row]);
      }
      expect(await pool.query('SELECT id FROM big ORDER BY id DESC')).toEqual(values.map((id) => ({ id: String(id) })));
    });

    describe('with execute()', () => {
      type Executing = Pick<IConnection, 'execute'>;
      const onBoth: readonly [where: string, run: (work: (on: Executing) => Promise<void>) => Promise<void>][] = [
        ['the pool', (work) => work(pool)],
        [
          'a connection',
          async (work) => {
            const connection = await pool.getConnection();
            try {
              await connection.beginTransaction();
              await work(connection);
              await connection.commit();
            } finally {
              connection.release(true);
            }
          },
        ],
      ];

      const COUNTS: readonly [
        guarantee: string,
        ...statements: [sql: string, rowCount: number | null, rows: number][],
      ][] = [
        [
          'counts the rows that INSERT, UPDATE and DELETE changed, and that SELECT gave',
          ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b'), (3, 'c')", 3, 0],
          ['UPDATE notes SET weight = 1 WHERE id < 3', 2, 0],
          ['UPDATE notes SET weight = 1 WHERE id < 3', 2, 0],
          ['UPDATE notes SET weight = 1 WHERE id < 0', 0, 0],
          ['SELECT id FROM notes', 3, 3],
          ['/* now */ DELETE FROM notes WHERE id = 1', 1, 0],
          ['DELETE FROM notes', 2, 0],
          ['DELETE FROM notes', 0, 0],
        ],
        [
          'counts the rows of INSERT and DELETE with RETURNING',
          ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b') RETURNING id", 2, 2],
          ['DELETE FROM notes WHERE id = 2 RETURNING id, body', 1, 1],
          ['DELETE FROM notes WHERE id = 2 RETURNING id, body', 0, 0],
        ],
        [
          'counts the rows of UPDATE with RETURNING',
          ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b')", 2, 0],
          ['UPDATE notes SET weight = 1 WHERE id < 3 RETURNING id', 2, 2],
        ],
        [
          'counts no row that ON CONFLICT left out',
          ["INSERT INTO notes (id, body) VALUES (1, 'a') ON CONFLICT DO NOTHING", 1, 0],
          ["INSERT INTO notes (id, body) VALUES (1, 'a') ON CONFLICT DO NOTHING", 0, 0],
        ],
        [
          'counts the rows of a statement that begins with WITH',
          ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b')", 2, 0],
          ['WITH old AS (SELECT 1 AS id) DELETE FROM notes WHERE id IN (SELECT id FROM old)', 1, 0],
        ],
        ['counts nothing where the table itself was changed', ['CREATE TABLE more (id INTEGER)', null, 0]],
      ];
      for (const [guarantee, ...statements] of COUNTS) {
        it(guarantee, async () => {
          for (const [sql, rowCount, rows] of statements) {
            const result = await pool.execute(sql);
            const command = /INSERT|UPDATE|DELETE|SELECT id|CREATE/.exec(sql)?.[0].replace(' id', '');
            expect([sql, result.command, result.rowCount, result.rows.length]).toEqual([sql, command, rowCount, rows]);
          }
        });
      }

      each('of %s keeps columns of equal name apart in arrays', onBoth, async ([, run]) => {
        await run(async (on) => {
          const sql = 'SELECT a.id, b.id, b.body FROM notes a JOIN notes b ON b.id > a.id WHERE a.id = $1';
          await on.execute("INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b')");
          const { rows, fields } = await on.execute(sql, [1], { rowMode: 'array' });
          expect(rows).toEqual([[1, 2, 'b']]);
          expect(fields.map(({ name }) => name)).toEqual(['id', 'id', 'body']);
          expect((await on.execute(sql, [1])).rows).toEqual([{ id: 2, body: 'b' }]);
        });
      });

      each('of %s gives the values that query() gives', onBoth, async ([, run]) => {
        await run(async (on) => {
          await on.execute("INSERT INTO notes (id, body, weight) VALUES (1, 'a', 1.5)");
          const sql = 'SELECT 9007199254740993 + 0 AS big, id, weight, body, NULL AS missing FROM notes';
          const row = { big: '9007199254740993', id: 1, weight: 1.5, body: 'a', missing: null };
          expect((await on.execute(sql)).rows).toEqual([row]);
          expect((await on.execute(sql, [], { rowMode: 'array' })).rows).toEqual([Object.values(row)]);
        });
      });

      it('knows the columns of a table that was changed', async () => {
        const on = pool;
        const columns = async (): Promise<string[]> =>
          (await on.execute('SELECT * FROM notes')).fields.map(({ name }) => name);
        expect(await columns()).toEqual(['id', 'body', 'weight']);
        await pool.query('ALTER TABLE notes ADD COLUMN colour TEXT');
        expect(await columns()).toEqual(['id', 'body', 'weight', 'colour']);
      });

      each('of %s fails as query() does', onBoth, async ([, run]) => {
        const failing = (sql: unknown, params: unknown[] = []): Promise<void> =>
          run(async (on) => void (await on.execute(sql as string, params)));
        await expect(failing('COMMIT')).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
        await expect(failing(7)).rejects.toMatchObject({ code: 'AMBIT_TX_PARAMETER' });
        await expect(failing('SELECT 1; SELECT 2')).rejects.toMatchObject({ sqlState: '42601' });
        await expect(failing('SELECT $1 || $2', ['a'])).rejects.toMatchObject({ sqlState: '08P01' });
        await expect(failing("INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'a')")).rejects.toMatchObject({
          code: 'AMBIT_TX_STATEMENT_FAILED',
          sqlState: '23505',
        });
        expect(await bodies()).toEqual([]);
      });

      it('refuses a row mode that it does not know', async () => {
        const wrong = { rowMode: 'arrays' as 'array' };
        const refusal = { code: 'AMBIT_OPTION' };
        await expect(pool.execute('SELECT 1', [], wrong)).rejects.toMatchObject(refusal);
        const connection = await pool.getConnection();
        await expect(connection.execute('SELECT 1', [], wrong)).rejects.toMatchObject(refusal);
        connection.release();
        await expect(connection.execute('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
      });
    });

    each('refuses %j as a statement', [undefined, null, 7, { text: 'SELECT 1' }], async (sql) => {
      const refusal = { code: 'AMBIT_TX_PARAMETER' };
      await expect(pool.query(sql as unknown as string)).rejects.toMatchObject(refusal);
      const connection = await pool.getConnection();
      await expect(connection.query(sql as unknown as string)).rejects.toMatchObject(refusal);
      connection.release();
      expect(await pool.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });

    each(
      'refuses %j in query()',
      ['BEGIN', 'commit', ' /* now */ ROLLBACK', '-- now\nEND', 'START TRANSACTION'],
      async (sql) => {
        await expect(pool.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
        const connection = await pool.getConnection();
        await expect(connection.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
        connection.release();
      },
    );

    each('refuses %j outside of a transaction', ['SAVEPOINT a', '/* */ release a'], async (sql) => {
      await expect(pool.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '25P01' });
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.commit();
      connection.release();
    });

    it('refuses an isolation level that it does not know, and has not begun then', async () => {
      const connection = await pool.getConnection();
      const begin = connection.beginTransaction({ isolation: 'serializable; DROP TABLE notes' as 'serializable' });
      await expect(begin).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
      await connection.beginTransaction({ isolation: 'repeatable read' });
      await connection.commit();
      connection.release();
    });

    it('does not write in a read-only transaction, and writes again after it', async () => {
      const connection = await pool.getConnection({ readOnly: true });
      await connection.beginTransaction({ readOnly: true });
      await expect(connection.query('INSERT INTO notes (id) VALUES (1)')).rejects.toMatchObject({
        sqlState: '25006',
      });
      await connection.rollback();
      connection.release();
      await pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['a']);
      expect(await bodies()).toEqual(['a']);
    });

    it('keeps savepoints through query()', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
      await connection.query('SAVEPOINT half');
      await connection.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['gone']);
      await connection.query('ROLLBACK TO SAVEPOINT half');
      await connection.query('RELEASE SAVEPOINT half');
      await connection.commit();
      connection.release();
      expect(await bodies()).toEqual(['kept']);
    });

    it('refuses a second release, and the next user keeps the connection', async () => {
      const first = await pool.getConnection();
      first.release();
      const second = await pool.getConnection();
      expect(() => first.release()).toThrow(expect.objectContaining({ code: 'AMBIT_TX_FINISHED' }));
      const third = pool.getConnection({ timeoutMs: 20 });
      await expect(third).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
      second.release();
    });

    it('refuses every use after the release', async () => {
      const connection = await pool.getConnection();
      connection.release();
      const used = { code: 'AMBIT_TX_FINISHED' };
      await expect(connection.query('SELECT 1')).rejects.toMatchObject(used);
      await expect(connection.beginTransaction()).rejects.toMatchObject(used);
      await expect(connection.commit()).rejects.toMatchObject(used);
      await expect(connection.rollback()).rejects.toMatchObject(used);
    });

    it('stops waiting for a connection after the acquire time-out, and leaks no place', async () => {
      const first = await pool.getConnection();
      const waiting = pool.getConnection({ timeoutMs: 20 });
      expect(pool.size?.waiting).toBe(1);
      await expect(waiting).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT', unavailable: true });
      first.release();
      const next = await pool.getConnection({ timeoutMs: 20 });
      next.release();
      expect(pool.size).toMatchObject({ waiting: 0 });
    });

    it('refuses at once when too many wait already, and serves those who do', async () => {
      const small = await database.pool({ max: 1, maxWaiting: 2 });
      const first = await small.getConnection();
      const waiting = [small.getConnection(), small.getConnection()];
      const full = { code: 'AMBIT_TX_POOL_FULL', unavailable: true, retryable: false, status: 503 };
      await expect(small.getConnection()).rejects.toMatchObject(full);
      await expect(small.query('CREATE TABLE more (id INTEGER)')).rejects.toMatchObject(full);
      expect(small.size?.waiting).toBe(2);
      first.release();
      for (const next of waiting) (await next).release();
      await small.query('CREATE TABLE more (id INTEGER)');
      expect(small.size).toMatchObject({ waiting: 0 });
    });

    it('stops waiting when the signal says so', async () => {
      const first = await pool.getConnection();
      const client = new AbortController();
      const waiting = pool.getConnection({ signal: client.signal });
      client.abort(new Error('the client disconnected'));
      await expect(waiting).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      await expect(pool.getConnection({ signal: client.signal })).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      first.release();
      (await pool.getConnection()).release();
    });

    it('serves those who wait in the order they came', async () => {
      const first = await pool.getConnection();
      const order: number[] = [];
      const waiting = [1, 2, 3].map(async (number) => {
        const connection = await pool.getConnection();
        order.push(number);
        connection.release();
      });
      first.release();
      await Promise.all(waiting);
      expect(order).toEqual([1, 2, 3]);
    });

    describe.each(beginWaits ? ['another pool'] : [])('while %s holds the lock to write', () => {
      let unlock: () => Promise<void>;
      beforeEach(async () => {
        const other = await database.pool();
        const holder = await other.getConnection();
        await holder.beginTransaction();
        unlock = async () => {
          await holder.rollback();
          holder.release();
        };
      });

      const expectNoTransaction = async (): Promise<void> => {
        await pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['acknowledged']);
        const next = await pool.getConnection();
        await next.beginTransaction();
        await next.rollback();
        next.release();
        expect(await bodies()).toEqual(['acknowledged']);
      };

      it('waits with BEGIN, and begins as soon as the lock is free', async () => {
        const connection = await pool.getConnection();
        const begun = connection.beginTransaction();
        await unlock();
        await begun;
        await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
        await connection.commit();
        connection.release();
        expect(await bodies()).toEqual(['kept']);
      });

      each(
        'runs no BEGIN of a connection that was %s while it waited',
        [
          ['cancelled', true, false],
          ['released', false, true],
          ['cancelled and released', true, true],
        ] as const,
        async ([, isCancelled, isReleased]) => {
          const connection = await pool.getConnection();
          const begun = connection.beginTransaction();
          if (isCancelled) connection.cancel?.();
          if (isReleased) connection.release();
          await unlock();
          await expect(begun).rejects.toBeInstanceOf(Error);
          if (!isReleased) connection.release();
          await expectNoTransaction();
        },
      );

      it('begins for the next user after a connection was released while its BEGIN waited', async () => {
        const first = await pool.getConnection();
        const abandoned = first.beginTransaction().catch((error: unknown) => error);
        first.cancel?.();
        first.release();
        const next = await pool.getConnection();
        const begun = next.beginTransaction();
        await unlock();
        await begun;
        expect(await abandoned).toBeInstanceOf(Error);
        await next.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
        await next.commit();
        next.release();
        expect(await bodies()).toEqual(['kept']);
      });

      it('runs no BEGIN after the pool was closed', async () => {
        const connection = await pool.getConnection();
        const outcome = connection.beginTransaction().catch((error: unknown) => error);
        await pool.close();
        await unlock();
        expect(await outcome).toBeInstanceOf(Error);
        connection.release();
      });
    });

    it('stores all or nothing when a statement failed before commit(), and says which', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
      await connection.query('SELECT * FROM no_such_table').catch(() => undefined);
      const refusal = await connection.commit().catch((error: unknown) => error);
      connection.release();
      if (refusal) expect(refusal).toMatchObject({ code: 'AMBIT_TX_COMMIT_FAILED', sqlState: '40000' });
      expect(await bodies()).toEqual(refusal ? [] : ['kept']);
    });

    /** On SQLite the second INSERT rolls the whole transaction back; elsewhere it is an error in the text. */
    const afterConflict = async (): Promise<DatabaseConnection> => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['first']);
      await connection.query('INSERT OR ROLLBACK INTO notes (id) VALUES (1)').catch(() => undefined);
      return connection;
    };

    it('stores all or nothing when the database has rolled the transaction back by itself', async () => {
      const connection = await afterConflict();
      await connection.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['second']).catch(() => undefined);
      const refusal = await connection.commit().catch((error: unknown) => error);
      connection.release();
      if (refusal) expect(refusal).toMatchObject({ code: expect.any(String), sqlState: '40000' });
      expect(await bodies()).toEqual(refusal ? [] : ['first', 'second']);
    });

    it('begins again where the database has rolled the transaction back, and only there', async () => {
      const connection = await afterConflict();
      const refusal = await connection.beginTransaction().catch((error: unknown) => error);
      if (refusal) expect(refusal).toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
      else await connection.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['again']);
      await (refusal ? connection.rollback() : connection.commit());
      connection.release();
      expect(await bodies()).toEqual(refusal ? [] : ['again']);
    });

    if (hasSeveralWriters) {
      it('stores nothing of a transaction that the database has undone to end a deadlock', async () => {
        await pool.query('CREATE TABLE shelves (id INTEGER PRIMARY KEY, body VARCHAR(20))');
        await pool.query("INSERT INTO shelves VALUES (1, 'a'), (2, 'b')");
        const both = await database.pool({ max: 2 });
        const connections = [await both.getConnection(), await both.getConnection()];
        for (const connection of connections) await connection.beginTransaction();
        const update = (connection: DatabaseConnection, id: number, body: string): Promise<unknown> =>
          connection.query('UPDATE shelves SET body = $1 WHERE id = $2', [body, id]);
        for (const [index, connection] of connections.entries()) await update(connection, index + 1, `first ${index}`);
        const outcomes = await Promise.allSettled(
          connections.map((connection, index) => update(connection, 2 - index, `second ${index}`)),
        );
        const victim = outcomes.findIndex(({ status }) => status === 'rejected');
        expect(outcomes[victim]).toMatchObject({ reason: { retryable: true, status: 503 } });
        expect(outcomes[1 - victim]).toMatchObject({ status: 'fulfilled' });
        for (const [index, connection] of connections.entries()) {
          const late = connection.query('INSERT INTO shelves (id) VALUES ($1)', [index + 3]);
          const commit = late.catch(() => undefined).then(() => connection.commit());
          if (index === victim) await expect(commit).rejects.toMatchObject({ status: expect.any(Number) as number });
          else await commit;
          connection.release();
        }
        const rows = await pool.query('SELECT id, body FROM shelves ORDER BY id');
        const survivor = 1 - victim;
        const bodiesNow = survivor === 0 ? ['first 0', 'second 0'] : ['second 1', 'first 1'];
        expect(rows).toEqual([
          { id: 1, body: bodiesNow[0] },
          { id: 2, body: bodiesNow[1] },
          { id: survivor + 3, body: null },
        ]);
      });
    }

    it('refuses a second beginTransaction() while the first transaction is open, and commits the first', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
      await expect(connection.beginTransaction()).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
      await connection.commit();
      connection.release();
      await expect(connection.beginTransaction()).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
      expect(await bodies()).toEqual(['kept']);
    });

    each('refuses a time limit of %j for getConnection()', [Number.NaN, -1, '5'], async (timeoutMs) => {
      const holder = await pool.getConnection();
      const asking = pool.getConnection({ timeoutMs: timeoutMs as number });
      await expect(asking).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
      holder.release();
    });

    it('does not let a failed statement affect the next user', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('SELECT * FROM no_such_table').catch(() => undefined);
      await connection.rollback();
      connection.release();
      expect(await bodies()).toEqual([]);
    });

    each(
      'waits only so long for connections that are checked out, and refuses them a late %s()',
      ['commit', 'query'] as const,
      async (late) => {
        const connection = await pool.getConnection();
        await connection.beginTransaction();
        await pool.close();
        const used = late === 'commit' ? connection.commit() : connection.query('SELECT 1');
        await expect(used).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED', status: 503 });
      },
    );

    it('accepts a late rollback(), which closing has done, and a late release(), once', async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await pool.close();
      await connection.rollback();
      connection.release();
      const released = { code: 'AMBIT_TX_FINISHED' };
      expect(() => connection.release()).toThrow(expect.objectContaining(released));
      await expect(connection.query('SELECT 1')).rejects.toMatchObject(released);
    });

    it('closes once the connections in use are released, and hands out none after that', async () => {
      pool = await database.pool({ max: 1, closeTimeoutMs: 10_000 });
      const connection = await pool.getConnection();
      const closing = pool.close();
      await expect(pool.getConnection()).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED', unavailable: true });
      await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
      await connection.beginTransaction();
      await connection.commit();
      connection.release();
      await closing;
      expect(pool.close()).toBe(closing);
    });
    const terminated = async (): Promise<DatabaseConnection> => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'gone']);
      await connection.query("SET LOCAL idle_in_transaction_session_timeout = '20ms'");
      await pause(400);
      // On a busy machine the timer may come before what the socket has received.
      await new Promise(setImmediate);
      return connection;
    };
    const notSent = { code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '08003', status: 503 };

    if (terminates) {
      it('sends nothing on a connection that the server has closed, and opens another', async () => {
        const connection = await terminated();
        await expect(connection.query('SELECT 1')).rejects.toMatchObject(notSent);
        await expect(connection.commit()).rejects.toMatchObject(notSent);
        connection.release();
        expect(await bodies()).toEqual([]);
      });
      it('says that a conflict is temporary, of a statement as of COMMIT', async () => {
        await pool.query(
          `CREATE FUNCTION conflict() RETURNS trigger AS $$ BEGIN RAISE SQLSTATE '40001'; END $$ LANGUAGE plpgsql`,
        );
        const at = `AFTER INSERT ON notes DEFERRABLE INITIALLY`;
        const temporary = { sqlState: '40001', status: 503, statusCode: 503, retryable: true, unavailable: true };
        await pool.query(
          `CREATE CONSTRAINT TRIGGER conflicting ${at} DEFERRED FOR EACH ROW EXECUTE FUNCTION conflict()`,
        );
        await expect(pool.query('INSERT INTO notes (id) VALUES (1)')).rejects.toMatchObject(temporary);
        const connection = await pool.getConnection();
        await connection.beginTransaction();
        await connection.query('INSERT INTO notes (id) VALUES (1)');
        await expect(connection.commit()).rejects.toMatchObject(temporary);
        await connection.beginTransaction();
        await connection.query('SET CONSTRAINTS ALL IMMEDIATE');
        await expect(connection.query('INSERT INTO notes (id) VALUES (1)')).rejects.toMatchObject(temporary);
        await connection.rollback();
        connection.release();
      });
      it('names the reason for which the server has closed the connection', async () => {
        const connection = await terminated();
        for (const use of [() => connection.query('SELECT 1'), () => connection.commit()]) {
          const error = (await use().catch((reason: unknown) => reason)) as Error;
          expect(error.message).toContain('(25P03)');
          expect(error.message).not.toContain('timeout');
          const cause = { code: '25P03', message: expect.stringContaining('idle-in-transaction timeout') as string };
          expect(error.cause).toMatchObject(cause);
        }
        connection.release();
      });
    }

    it('runs supports in a transaction, requires-new and not-supported beside it, or says what it waits for', async () => {
      const two = await database.pool({ max: 2, ...(hasOneConnection && { acquireTimeoutMs: 500 }) });
      await two.query('CREATE TABLE runs (line VARCHAR(20))');
      const app = new Container();
      app.register('IDatabasePool', () => two);
      const lines = async (of: Pick<IDatabasePool, 'query'>): Promise<string[]> => {
        const rows = await of.query<{ line: string }>('SELECT line FROM runs ORDER BY line');
        return rows.map(({ line }) => line);
      };
      const add = (propagation: Propagation, line: string, scope: IContainer): Promise<unknown> =>
        runInTransaction(
          scope,
          (inner) => {
            const where = inner.resolve<Pick<IDatabasePool, 'query'>>(inner === app ? 'IDatabasePool' : 'IConnection');
            return where.query('INSERT INTO runs VALUES ($1)', [line]);
          },
          { propagation },
        );

      await add('supports', 'alone', app);
      await add('not-supported', 'alone, too', app);
      expect(await lines(two)).toEqual(['alone', 'alone, too']);

      const failure = new Error('undone');
      const outside = ['alone', 'alone, too', ...(hasSeveralWriters ? ['beside'] : [])];
      let beside: unknown;
      const outer = runInTransaction(app, async (scope) => {
        const read = (around: IContainer): Promise<unknown> => lines(around.resolve<IDatabasePool>('IDatabasePool'));
        await add('supports', 'joined', scope);
        if (hasSeveralWriters) await unchecked(() => add('requires-new', 'beside', scope));
        beside = await unchecked(() => runInTransaction(scope, read, { propagation: 'not-supported' })).catch(
          (error: unknown) => error,
        );
        await add('supports', 'joined, too', scope);
        expect(await lines(scope.resolve<IConnection>('IConnection'))).toContain('joined, too');
        throw failure;
      });
      await expect(outer).rejects.toBe(failure);
      if (!hasOneConnection) expect(beside).toEqual(outside);
      else {
        expect(beside).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT', status: 503 });
        expect((beside as Error).message).toContain('A not-supported run waited for a second connection');
      }
      expect(await lines(two)).toEqual(outside);

      const half = runInTransaction(app, async (scope) => {
        await add('supports', 'half', scope);
        const part = runInTransaction(scope, () => Promise.reject(failure), { propagation: 'supports' });
        await expect(part).rejects.toBe(failure);
      });
      await expect(half).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', cause: failure });
      expect(await lines(two)).toEqual(outside);
    });

    describe.each(isPostgres ? ['the same'] : [])('means %s on every connection', () => {
      meansTheSameAfterMigrations(it, () => database);
    });

    describe.each(leftovers.length > 0 || hasOtherUsers ? ['nothing'] : [])('inherits %s', () => {
      inheritsNothing(it, () => database, { leftovers, hasOtherUsers });
    });

    alone((title, run) => it(title, () => run(database)), refusedCommit);

    test('declares only what it lacks', () => {
      expect([...titles]).toEqual(expect.arrayContaining(Object.keys(cannot)));
    });
  });
}
