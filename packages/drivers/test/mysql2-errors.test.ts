import { once } from 'node:events';
import { Container } from '@ambit/container';
import { hasMariadb, type MariadbDatabase, openMariadbDatabase } from '@ambit/test-kit';
import { type DatabaseConnection, type DatabasePool, type IConnection, runInTransaction } from '@ambit/transaction';
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';

/** What nodes of a Galera cluster say, and what the caller gets; each was seen while a node was cut off. */
const OF_GALERA = [
  ['40001', 1213, 'Deadlock found when trying to get lock; try restarting transaction'],
  ['08S01', 1047, 'WSREP has not yet prepared node for application use'],
  ['HY000', 1180, 'Error while appending streaming replication fragment(provider status: Not connected to Primary)'],
  ['HY000', 2013, 'Lost connection to server during query'],
] as const;

describe.runIf(hasMariadb)('errors of MariaDB', () => {
  let database: MariadbDatabase;
  let mysql: Pool;
  let pool: DatabasePool;
  /** What the server gets in place of a statement of the pool. */
  const instead = new Map<string, string[]>();
  beforeAll(async () => {
    database = await openMariadbDatabase();
    await database.admin(`CREATE TABLE ${database.name}.notes (id INTEGER PRIMARY KEY)`);
    mysql = createPool({ uri: database.url().replace(/^mariadb:/, 'mysql:') });
    const getConnection = mysql.getConnection.bind(mysql);
    // The server itself sends the error in place of its response.
    mysql.getConnection = async () => {
      const connection = await getConnection();
      const query = connection.query.bind(connection) as unknown as (sql: string) => Promise<never>;
      connection.query = async (sql: unknown) => {
        const [last = String(sql), ...earlier] = instead.get(String(sql))?.toReversed() ?? [];
        for (const statement of earlier) await query(statement);
        return query(last);
      };
      return connection;
    };
    pool = fromMysql2Pool(mysql);
  });
  afterEach(() => pool.query('DELETE FROM notes'));
  afterAll(async () => {
    await pool.close();
    await database.drop();
  });

  const inTransaction = (id: number): Promise<unknown> => {
    const app = new Container();
    app.register('IDatabasePool', () => pool);
    const work = (connection: IConnection) => connection.query('INSERT INTO notes VALUES ($1)', [id]);
    return runInTransaction(app, (scope) => work(scope.resolve<IConnection>('IConnection')), { retries: 0 });
  };
  const signal = (state: string, errno: number, text: string): string =>
    `SIGNAL SQLSTATE '${state}' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = '${text}'`;

  test.each([
    [{ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '40001', retryable: true, status: 503 }, OF_GALERA[0]],
    [{ code: 'AMBIT_TX_READ_ONLY', sqlState: '25006', retryable: false, status: 503 }, OF_GALERA[1]],
    [{ code: 'AMBIT_TX_OUTCOME_UNKNOWN', sqlState: '40003', retryable: false, status: 503 }, OF_GALERA[2]],
    [
      { code: 'AMBIT_TX_READ_ONLY', sqlState: '25006', retryable: false, status: 503 },
      ['HY000', 1290, 'The MariaDB server is running with the --read-only option'] as const,
    ],
    [
      { code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: 'HY000', status: 500 },
      ['HY000', 1290, 'The MariaDB server is running with the --secure-file-priv option'] as const,
    ],
    [
      { code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '08S01', status: 503 },
      ['08S01', 1047, 'Unknown command'] as const,
    ],
    [
      { code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '08006', status: 503 },
      ['08S01', 1160, 'Got an error writing communication packets'] as const,
    ],
  ])('a statement is refused with %o after %o', async (expected, [state, errno, text]) => {
    await expect(pool.query(signal(state, errno, text))).rejects.toMatchObject(expected);
  });

  test.each([
    [{ code: 'AMBIT_TX_COMMIT_FAILED', retryable: true, status: 503 }, OF_GALERA[0]],
    [{ code: 'AMBIT_TX_COMMIT_FAILED', retryable: false, status: 503 }, OF_GALERA[1]],
    [{ code: 'AMBIT_TX_OUTCOME_UNKNOWN', retryable: false, status: 503 }, OF_GALERA[2]],
    [{ code: 'AMBIT_TX_OUTCOME_UNKNOWN', retryable: false, status: 503 }, OF_GALERA[3]],
  ])('the outcome is %o after COMMIT got %o', async (expected, [state, errno, text]) => {
    instead.set('COMMIT', [signal(state, errno, text)]);
    const error = await inTransaction(1).catch((reason: unknown) => reason);
    instead.clear();
    expect(error).toMatchObject(expected);
    // Nothing of it is left in a connection.
    await inTransaction(1);
  });

  test('a connection on which ROLLBACK finds that another node was first is used again', async () => {
    const [state, errno, text] = OF_GALERA[0];
    instead.set('ROLLBACK', ['ROLLBACK', signal(state, errno, text)]);
    const sessions = new Set<unknown>();
    for (let round = 0; round < 3; round++) {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      sessions.add((await connection.query<{ id: number }>('SELECT CONNECTION_ID() AS id'))[0]?.id);
      await connection.rollback();
      connection.release();
    }
    instead.clear();
    expect(sessions.size).toBe(1);
  });

  /** Runs `work` in a transaction that has stored 500, on one connection, which is released after it. */
  const begun = async (work: (connection: DatabaseConnection) => Promise<void>): Promise<void> => {
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query('INSERT INTO notes VALUES ($1)', [500]);
    await work(connection);
    connection.release();
  };
  const stored = async (): Promise<number[]> => {
    const rows = await pool.query<{ id: number }>('SELECT id FROM notes WHERE id >= 500 ORDER BY id');
    return rows.map(({ id }) => id);
  };
  const expectNoMore = async (connection: DatabaseConnection): Promise<void> => {
    const late = connection.query('INSERT INTO notes VALUES ($1)', [502]);
    await expect(late).rejects.toThrow(/an earlier one has already committed/);
    await expect(connection.commit()).rejects.toThrow(/COMMIT found no open transaction/);
  };

  test.each([
    ['', 'COMMIT'],
    [', and gives rows', 'COMMIT; SELECT 7 AS id, 8 AS other; SELECT 9 AS id'],
    [', and fails', "COMMIT; SIGNAL SQLSTATE '45000'"],
  ])('a transaction that a procedure completes%s is not committed again, and takes no more', async (_what, end) => {
    const body = `BEGIN INSERT INTO notes VALUES (501); ${end}; END`;
    await database.admin(`CREATE OR REPLACE PROCEDURE ${database.name}.store() ${body}`);
    await begun(async (connection) => {
      await connection.query('CALL store()').catch(() => undefined);
      await expectNoMore(connection);
    });
    expect(await stored()).toEqual([500, 501]);
  });

  test('the rows of a procedure are those of its first SELECT', async () => {
    const body = 'BEGIN SELECT 7 AS id, 8 AS other; SELECT 9 AS id; END';
    await database.admin(`CREATE PROCEDURE ${database.name}.rows_of() ${body}`);
    expect(await pool.query('CALL rows_of()')).toEqual([{ id: 7, other: 8 }]);
    expect(await pool.execute('CALL rows_of()', [], { rowMode: 'array' })).toEqual({
      command: 'CALL',
      rowCount: null,
      rows: [[7, 8]],
      fields: [{ name: 'id' }, { name: 'other' }],
    });
  });

  test('a transaction that the server has rolled back because of a conflict takes no further statement', async () => {
    await pool.query('INSERT INTO notes VALUES (499)');
    await begun(async (connection) => {
      // From MariaDB 11.6 on that is the default.
      await connection.query('SET innodb_snapshot_isolation = ON');
      await pool.query('DELETE FROM notes WHERE id = 499');
      const conflict = { sqlState: '40001', retryable: true, cause: { errno: 1020 } };
      await expect(connection.query('DELETE FROM notes WHERE id = 499')).rejects.toMatchObject(conflict);
      await expectNoMore(connection);
    });
    expect(await stored()).toEqual([]);
  });

  test('a transaction goes on after a statement that failed alone', async () => {
    await begun(async (connection) => {
      await expect(connection.query('INSERT INTO notes VALUES (500)')).rejects.toMatchObject({ sqlState: '23505' });
      await connection.query('INSERT INTO notes VALUES (501)');
      await connection.commit();
    });
    expect(await stored()).toEqual([500, 501]);
  });

  test('a statement that is larger than the server takes costs its connection, and no other statement', async () => {
    const [row] = await pool.query<{ most: number }>('SELECT @@max_allowed_packet AS most');
    const tooLarge = pool.query('SELECT LENGTH($1) AS length', ['x'.repeat(Number(row?.most) + 1)]);
    await expect(tooLarge).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', status: 503 });
    expect(await pool.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('an id beyond the safe integers is left out, because as a number it would be that of another row', async () => {
    await database.admin(`CREATE TABLE ${database.name}.numbered (id BIGINT PRIMARY KEY AUTO_INCREMENT)`);
    await pool.query('INSERT INTO numbered VALUES (9007199254740991)');
    expect(await pool.execute('INSERT INTO numbered VALUES ()')).not.toHaveProperty('insertId');
  });

  test('LAST_INSERT_ID() is that of this user, or 0', async () => {
    await database.admin(
      `CREATE TABLE ${database.name}.ids (id INTEGER PRIMARY KEY AUTO_INCREMENT, body INTEGER UNIQUE)`,
    );
    const one = database.pool({ max: 1 });
    onTestFinished(() => one.close());
    const last = async (on: Pick<DatabasePool, 'query'>, sql = 'SELECT LAST_INSERT_ID() AS id'): Promise<unknown> =>
      (await on.query(sql))[0]?.['id'];
    const using = async (work: (connection: DatabaseConnection) => Promise<void>): Promise<void> => {
      const connection = await one.getConnection();
      await work(connection);
      connection.release();
    };
    await one.query('INSERT INTO ids (body) VALUES (1)');
    expect(await last(one)).toBe(0);
    await one.query('INSERT INTO ids (body) VALUES (2)');
    expect(await last(one, 'SELECT @@identity AS id')).toBe(0);
    await using(async (connection) => {
      const { insertId } = await connection.execute('INSERT INTO ids (body) VALUES (3)');
      expect(await last(connection)).toBe(insertId);
    });
    await using(async (connection) => {
      await connection.query('INSERT IGNORE INTO ids (body) VALUES (3)');
      expect(await last(connection)).toBe(0);
      const { insertId } = await connection.execute('UPDATE ids SET body = 10 WHERE id = LAST_INSERT_ID(1)');
      expect(insertId).toBe(1);
    });
    await using(async (connection) => {
      await connection.query('INSERT INTO ids (body) VALUES (4) RETURNING id');
      await expect(last(connection)).rejects.toMatchObject({ code: 'AMBIT_TX_UNSUPPORTED' });
    });
    expect(await last(one)).toBe(0);
  });

  describe('on a node of a Galera cluster', () => {
    beforeAll(() => void instead.set("SHOW VARIABLES LIKE 'wsrep_on'", ["SELECT 'wsrep_on' AS name, 'ON' AS value"]));
    afterAll(() => instead.clear());

    /** As a node does while it prepares a SELECT of a transaction that has to make room for that of another node. */
    const SWALLOWS = 'SELECT COUNT(*) AS n FROM notes -- undone in silence';

    test.each([
      ['a SELECT is its last statement', []],
      ['other statements follow', ['INSERT INTO notes VALUES (501)']],
    ])('nothing is stored of a transaction that was undone in silence, where %s', async (_where, more) => {
      const nodes = createPool({ uri: database.url().replace(/^mariadb:/, 'mysql:') });
      const getConnection = nodes.getConnection.bind(nodes);
      nodes.getConnection = async () => {
        const connection = await getConnection();
        const [query, execute] = [connection.query.bind(connection), connection.execute.bind(connection)];
        connection.query = ((sql: string) => query(instead.get(sql)?.[0] ?? sql)) as never;
        connection.execute = (async (options: { sql: string }) => {
          if (options.sql === SWALLOWS) await query('ROLLBACK');
          return execute(options as never);
        }) as never;
        return connection;
      };
      const over = fromMysql2Pool(nodes);
      onTestFinished(() => over.close());
      const connection = await over.getConnection();
      await connection.beginTransaction();
      await connection.query('INSERT INTO notes VALUES (500)');
      const conflict = { code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '40001', retryable: true };
      await expect(connection.query(SWALLOWS)).rejects.toMatchObject(conflict);
      for (const sql of more) await expect(connection.query(sql)).rejects.toThrow(/earlier one has already/);
      await expect(connection.commit()).rejects.toMatchObject({ sqlState: '40000' });
      connection.release();
      expect(await stored()).toEqual([]);
    });
  });

  describe('the session of a connection', () => {
    const sessionAfter = async (sql: string, params?: unknown[]): Promise<'the same' | 'another'> => {
      const one = database.pool({ max: 1 });
      onTestFinished(() => one.close());
      const current = async (): Promise<unknown> => (await one.query('SELECT CONNECTION_ID() AS id'))[0]?.['id'];
      const before = await current();
      await one.query(sql, params);
      return (await current()) === before ? 'the same' : 'another';
    };

    test.each([
      "SET SESSION sql_mode = 'ANSI'",
      'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE',
      'SET @total = 1',
      'SELECT @total := 1',
      'SELECT @`the total` := 1',
      "SELECT @'total' /* now */ := 1",
      'SELECT 1 INTO @total',
      'SELECT 1, 2 INTO /* both */ @one, @two',
      'SET STATEMENT max_statement_time = 5 FOR SELECT 1 INTO @total',
      "SELECT GET_LOCK('a', 0)",
      "select get_lock/**/('a', 0)",
      'CREATE TEMPORARY TABLE draft (id INTEGER)',
      'FLUSH TABLES notes WITH READ LOCK',
      'LOCK TABLES notes READ',
      'USE information_schema',
    ])('does not reach the next user after %j', async (sql) => expect(await sessionAfter(sql)).toBe('another'));

    test('does not reach the next user after an argument of CALL was set', async () => {
      await database.admin(
        `CREATE PROCEDURE ${database.name}.count_notes(OUT total INTEGER) SELECT COUNT(*) INTO total FROM notes`,
      );
      expect(await sessionAfter('CALL count_notes(@total)')).toBe('another');
    });

    test.each([
      'CREATE /*! TEMPORARY */ TABLE draft (id INTEGER)',
      "SELECT 1 /*!50000 , GET_LOCK('a', 0) */",
      'SELECT 1 /*M! INTO @total */',
    ])('is not changed by %j, whose comment the server would run', async (sql) => {
      await expect(sessionAfter(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
    });

    test.each([
      'SELECT 1',
      "SELECT '/*! */'",
      "SELECT 'into @total', \"@total := 1\" -- @total := 1\n # GET_LOCK('a', 0)",
      'SELECT @@sql_mode',
      "INSERT INTO notes SELECT 7 WHERE 'ada@example.org' = 'ada@example.org'",
      'SET STATEMENT max_statement_time = 5 FOR SELECT 1',
      'ANALYZE SELECT 1',
    ])('stays after %j', async (sql) => expect(await sessionAfter(sql)).toBe('the same'));
  });

  test.each(['SELECT', 'FORMAT = JSON UPDATE notes SET id = 501 WHERE'])(
    'ANALYZE %s is allowed in a transaction, which it does not commit',
    async (sql) => {
      await begun(async (connection) => {
        await connection.query(`ANALYZE ${sql} 1 = 1`);
        await connection.rollback();
      });
      expect(await stored()).toEqual([]);
    },
  );

  test.each(['TABLE', 'LOCAL TABLE', 'NO_WRITE_TO_BINLOG TABLE'])(
    'ANALYZE %s, which would commit it, is refused',
    (kind) =>
      begun(async (connection) => {
        const refusal = { code: 'AMBIT_TX_CONTROL_STATEMENT' };
        await expect(connection.query(`ANALYZE ${kind} notes`)).rejects.toMatchObject(refusal);
        await connection.rollback();
      }),
  );

  test.each([
    'START TRANSACTION; INSERT INTO notes VALUES (500)',
    'SET autocommit = 0; INSERT INTO notes VALUES (500)',
  ])(
    'what a procedure stores in a transaction that it leaves open is not acknowledged, nor the next statement lost: %s',
    async (body) => {
      await database.admin(`CREATE OR REPLACE PROCEDURE ${database.name}.begins() BEGIN ${body}; END`);
      const one = database.pool({ max: 1 });
      onTestFinished(() => one.close());
      await expect(one.query('CALL begins()')).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
      await one.query('INSERT INTO notes VALUES (501)');
      expect(await stored()).toEqual([501]);
    },
  );

  test('after a COMMIT that begins another transaction, as completion_type may have it, the next statement is stored', async () => {
    const chaining = createPool({ uri: database.url().replace(/^mariadb:/, 'mysql:'), connectionLimit: 1 });
    chaining.pool.on('connection', (session) => void session.query('SET completion_type = CHAIN'));
    const over = fromMysql2Pool(chaining, { max: 1 });
    const connection = await over.getConnection();
    await connection.beginTransaction();
    await connection.query('INSERT INTO notes VALUES (500)');
    await connection.commit();
    connection.release();
    await over.query('INSERT INTO notes VALUES (501)');
    await over.close();
    expect(await stored()).toEqual([500, 501]);
  });

  test('a server without room for another connection is named as PostgreSQL names it', async () => {
    const user = database.name;
    await database.admin(`CREATE USER ${user} WITH MAX_USER_CONNECTIONS 1`);
    onTestFinished(() => void database.admin(`DROP USER ${user}`));
    await database.admin(`GRANT ALL ON ${database.name}.* TO ${user}`);
    const address = new URL(database.url());
    address.username = user;
    const two = fromMysql2Pool(createPool({ uri: address.href }), { max: 2 });
    onTestFinished(() => two.close());
    const first = await two.getConnection();
    const noRoom = { code: 'AMBIT_TX_ACQUIRE_FAILED', sqlState: '53300', status: 503, cause: { errno: 1226 } };
    await expect(two.getConnection()).rejects.toMatchObject(noRoom);
    first.release();
  });

  describe('with another mysql2 pool', () => {
    const open = (options: PoolOptions = {}): Pool => {
      const other = createPool({ uri: database.url().replace(/^mariadb:/, 'mysql:'), connectionLimit: 2, ...options });
      onTestFinished(() => other.end());
      return other;
    };

    test.each([false, true])('whose server begins transactions by itself (reset: %j), all is stored', async (reset) => {
      const others = open({ resetOnRelease: reset, connectionLimit: 1 });
      // As `init_connect` or the default of the server would have it, for each connection.
      const start = (session: { query(sql: string): unknown }): unknown => session.query('SET autocommit = 0');
      others.pool.on('connection', start);
      if (reset) others.pool.on('release', start);
      const over = fromMysql2Pool(others, { max: 1, keepOpen: true });
      for (const id of [500, 501, 502]) {
        const released = once(others.pool, 'release');
        await over.query('INSERT INTO notes VALUES ($1)', [id]);
        await released;
      }
      expect(await stored()).toEqual([500, 501, 502]);
    });

    test.each([
      ['BEGIN', ['AMBIT_TX_ALREADY_OPEN']],
      ['SET autocommit = 0', ['AMBIT_TX_ALREADY_OPEN']],
    ])(
      'that another user waits for, and returns after %s, their half work is not committed',
      async (begin, expected) => {
        const codes: unknown[] = [];
        const listen = (warning: Error & { code?: unknown }): void => void codes.push(warning.code);
        process.on('warning', listen);
        onTestFinished(() => void process.removeListener('warning', listen));
        const others = open({ connectionLimit: 1 });
        const over = fromMysql2Pool(others, { max: 1, keepOpen: true });
        const ours = await over.getConnection();
        const waiting = others.getConnection();
        ours.release();
        const theirs = await waiting;
        const next = over.getConnection();
        await theirs.query(begin);
        await theirs.query('INSERT INTO notes VALUES (500)');
        theirs.release();
        const connection = await next;
        await connection.beginTransaction();
        await connection.query('INSERT INTO notes VALUES (501)');
        await connection.commit();
        connection.release();
        expect(await stored()).toEqual([501]);
        expect(codes).toEqual(expected);
      },
    );

    test('that nobody else uses, a connection is not looked at again', async () => {
      const others = open({ connectionLimit: 1 });
      const over = fromMysql2Pool(others, { max: 1, keepOpen: true });
      const count = async (): Promise<number> => {
        const [row] = await over.query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Questions'");
        return Number(row?.Value);
      };
      const [before, after] = [await count(), await count()];
      expect(after - before).toBe(1);
    });

    test('whose server does not respond to KILL QUERY, no connection is missing afterwards', async () => {
      const others = open();
      const getConnection = others.getConnection.bind(others);
      others.getConnection = async () => {
        const connection = await getConnection();
        const query = connection.query.bind(connection) as unknown as (sql: string) => Promise<never>;
        const slowly = (sql: unknown) => query(String(sql).startsWith('KILL') ? 'SELECT SLEEP(100)' : String(sql));
        connection.query = slowly;
        return connection;
      };
      const over = fromMysql2Pool(others, { max: 1, queryTimeoutMs: 50, keepOpen: true });
      await expect(over.query('SELECT SLEEP(100)')).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST' });
      const started = performance.now();
      const both = await Promise.all([getConnection(), getConnection()]);
      for (const connection of both) connection.release();
      expect(performance.now() - started).toBeLessThan(60_000);
    });
  });
});
