import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { Container } from '@ambit/container';
import { type DatabasePool, type IConnection, runInTransaction } from '@ambit/transaction';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { fromNodeSqlite } from '@ambit/drivers/node-sqlite';
import { fromPgPool } from '@ambit/drivers/pg';
import { fromPGlite } from '@ambit/drivers/pglite';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import { createPool } from 'mysql2';
import mysql from 'mysql2/promise';
import { Pool } from 'pg';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { inFolder, mariadbUrl, newName, openSchema, postgresUrl } from './databases.js';

/** Longer than a busy machine takes: only a failing test waits for it. */
const WAIT_MS = 120_000;
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');
const FIELDS = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
const TERMINATED = Buffer.from(`E\0\0\0${String.fromCodePoint(FIELDS.length + 4)}${FIELDS}`, 'latin1');

/** The transaction scope of an application over the pool. */
function inTransaction<T>(pool: DatabasePool, work: (connection: IConnection) => Promise<T>): Promise<T> {
  const app = new Container();
  app.register('IDatabasePool', () => pool);
  return runInTransaction(app, (scope) => work(scope.resolve<IConnection>('IConnection')), { onError: () => {} });
}

/** As `set_config()` for row-level security would do it. */
const afterBegin = (connection: IConnection): Promise<unknown> =>
  connection.query("SET LOCAL application_name = 'begun'");

describe.each([
  ['pg', (url: string, max: number) => fromPgPool(new Pool({ connectionString: url, max }), { afterBegin })],
  [
    'postgres.js',
    (url: string, max: number) => {
      const address = new URL(url);
      const search_path = address.searchParams.get('options')?.replace('-c search_path=', '') ?? '';
      address.search = '';
      return fromPostgresJs(postgres(address.href, { max, connection: { search_path }, onnotice: () => {} }), {
        afterBegin,
      });
    },
  ],
])('a pool over %s', (_name, open) => {
  let database: Awaited<ReturnType<typeof openSchema>>;
  let pool: DatabasePool;
  beforeEach(async () => {
    database = await openSchema();
    pool = open(database.url, 1);
    await pool.query('CREATE TABLE notes (id INTEGER)');
  });
  afterEach(async () => {
    await pool.close();
    await database.drop();
  });
  const count = async (): Promise<unknown> => {
    const [row, ...others] = await pool.query('SELECT count(*)::int AS n FROM notes');
    expect(others).toEqual([]);
    return row;
  };

  it('rejects a COMMIT to which PostgreSQL responds with ROLLBACK', async () => {
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query('INSERT INTO notes VALUES (1)');
    await connection.query('SELECT * FROM nowhere').catch(() => undefined);
    await expect(connection.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_COMMIT_FAILED', sqlState: '40000' });
    connection.release();
    expect(await count()).toEqual({ n: 0 });
  });

  it('says that the connection was lost when the server closes it, and works with another one', async () => {
    const lost = inTransaction(pool, async (connection) => {
      const [row] = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await connection.query('INSERT INTO notes VALUES (1)');
      // It sends thousands of rows, and then sleeps.
      const slow = connection.query('SELECT pg_sleep(n / 4000) FROM generate_series(1, 30000) AS n');
      slow.catch(() => undefined);
      const state = 'SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = $2';
      const sleeps = async () => (await database.admin.query(state, [row?.pid, 'PgSleep'])).rowCount === 1;
      await vi.waitUntil(sleeps, WAIT_MS);
      await database.admin.query('SELECT pg_terminate_backend($1)', [row?.pid]);
      await slow;
    });
    await expect(lost).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', status: 503 });
    expect(await count()).toEqual({ n: 0 });
  });

  it('replaces an idle connection that the server closes', async () => {
    const [row] = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await database.admin.query('SELECT pg_terminate_backend($1)', [row?.pid]);
    // The client may hear of it a moment later.
    await vi.waitFor(async () => expect(await count()).toEqual({ n: 0 }), WAIT_MS);
  });

  it('stops the statement of a client that has disconnected', async () => {
    const client = new AbortController();
    const app = new Container();
    app.register('IDatabasePool', () => pool);
    const started = performance.now();
    const aborted = runInTransaction(
      app,
      async (scope) => {
        const slow = scope.resolve<IConnection>('IConnection').query('SELECT pg_sleep(100)');
        setTimeout(() => client.abort(), 50);
        await slow;
      },
      { signal: client.signal, cancelAfterMs: 0 },
    );
    await expect(aborted).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(await count()).toEqual({ n: 0 });
    expect(performance.now() - started).toBeLessThan(60_000);
  });

  it('does not pass on a setting of the session', async () => {
    await pool.query("SET application_name = 'mine'");
    const [row] = await pool.query("SELECT current_setting('application_name') AS name");
    expect(row).not.toEqual({ name: 'mine' });
  });

  it('prepares every transaction as afterBegin says', async () => {
    const sql = "SELECT current_setting('application_name') AS name";
    expect(await inTransaction(pool, (connection) => connection.query(sql))).toEqual([{ name: 'begun' }]);
    expect(await pool.query(sql)).not.toEqual([{ name: 'begun' }]);
  });

  it('parses values as the caller says', async () => {
    // For every other type the parser of the driver is used.
    const types = { getTypeParser: (oid: number) => (oid === 1082 ? (text: string) => `${oid}:${text}` : undefined) };
    const sql = "SELECT DATE '2024-02-29' AS day, NULL::int AS missing, 5 AS five";
    expect((await pool.execute(sql, [], { types })).rows).toEqual([{ day: '1082:2024-02-29', missing: null, five: 5 }]);
    expect((await pool.execute(sql, [], { types, rowMode: 'array' })).rows).toEqual([['1082:2024-02-29', null, 5]]);
  });
});

describe.each([
  ['pg', () => fromPgPool(new Pool({ connectionString: postgresUrl, max: 1 }))],
  ['postgres.js', () => fromPostgresJs(postgres(postgresUrl, { max: 1 }))],
  ['PGlite', async () => fromPGlite(await PGlite.create())],
])('values through a pool over %s', (_name, open) => {
  let pool: DatabasePool;
  beforeAll(async () => {
    pool = await open();
  });
  afterAll(() => pool.close());

  it('sends a text as it is, whatever the type of the column', async () => {
    const sql = `SELECT $1::jsonb ->> 'a' AS json, $2::boolean AS yes, $3::date::text AS day, $4::bytea AS bytes, $5::int AS five, $6::text[] AS list`;
    const [row] = await pool.query(sql, ['{"a":1}', 'true', '2024-02-29', '\\x00ff', '5', '{a,"b,c"}']);
    expect(row).toMatchObject({ json: '1', yes: true, day: '2024-02-29', five: 5, list: ['a', 'b,c'] });
    expect(Buffer.from(row?.['bytes'] as Uint8Array).toString('hex')).toBe('00ff');
  });

  it('gives the text of each type to the parser of the caller', async () => {
    const types = { getTypeParser: (oid: number) => (text: string) => `${oid} ${text}` };
    const sql = `SELECT true AS a, 1::int8 AS b, '{"a": 1}'::jsonb AS c, '{1,2}'::int4[] AS d, 'x'::text AS e, '1 day'::interval AS f, '(1,2)'::point AS g`;
    const values = ['16 t', '20 1', '3802 {"a": 1}', '1007 {1,2}', '25 x', '1186 1 day', '600 (1,2)'];
    expect((await pool.execute(sql, [], { types, rowMode: 'array' })).rows).toEqual([values]);
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name, index) => [name, values[index]] as const);
    expect((await pool.execute(sql, [], { types })).rows).toEqual([Object.fromEntries(names)]);
  });
});

describe('a pool over pg', () => {
  it('keeps the process alive where the server opens a session and terminates it in the same packet', async () => {
    const { hostname, port } = new URL(postgresUrl);
    const sockets = new Set<Socket>();
    const proxy = createServer((client) => {
      const server = connect(Number(port), hostname);
      for (const socket of [client, server]) sockets.add(socket.on('error', () => {}));
      client.pipe(server);
      // ReadyForQuery, and behind it that the administrator has terminated the session.
      server.on('data', (chunk) => {
        if (chunk.includes(READY)) client.end(Buffer.concat([chunk, TERMINATED]));
        else client.write(chunk);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = new URL(postgresUrl);
    address.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const pool = fromPgPool(new Pool({ connectionString: address.href }));
    await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST' });
    await pool.close();
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
});

describe('a pool over postgres.js', () => {
  it('keeps the process alive while the server terminates its sessions', async () => {
    const program = new URL('terminated-sessions.mjs', import.meta.url);
    const { stdout } = await promisify(execFile)(process.execPath, [program.pathname, postgresUrl]);
    const { committed, lost } = JSON.parse(stdout) as { committed: number; lost: number };
    expect(committed).toBeGreaterThan(0);
    expect(lost).toBeGreaterThan(0);
  });

  it('opens connections that do not ask for the types of arrays', async () => {
    const pool = fromPostgresJs(postgres(postgresUrl, { max: 2, fetch_types: false }));
    const both = await Promise.all([pool.getConnection(), pool.getConnection()]);
    for (const connection of both) {
      expect(await connection.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      connection.release();
    }
    await pool.close();
  });
});

describe('the end of a pool over postgres.js', () => {
  it('does not wait longer than its limit for a connection that does not end', async () => {
    const pool = fromPostgresJs(postgres(postgresUrl, { max: 1 }), { closeTimeoutMs: 100 });
    const connection = await pool.getConnection();
    const slow = connection.query('SELECT pg_sleep(100)').catch((error: unknown) => error);
    const started = performance.now();
    await pool.close();
    expect(performance.now() - started).toBeLessThan(60_000);
    await expect(slow).resolves.toBeInstanceOf(Error);
  });
});

describe('a pool over mysql2', () => {
  it('refuses a pool that takes callbacks, and says which it needs', () => {
    const withCallbacks = createPool(mariadbUrl);
    expect(() => fromMysql2Pool(withCallbacks as never)).toThrow(/mysql2\/promise.*pass pool\.promise\(\)/);
    withCallbacks.end();
  });

  const name = newName();
  let pool: DatabasePool;
  beforeEach(async () => {
    const admin = await mysql.createConnection(mariadbUrl);
    await admin.query(`CREATE DATABASE ${name}`);
    await admin.end();
    pool = fromMysql2Pool(mysql.createPool(`${mariadbUrl}/${name}`), { max: 1 });
    await pool.query('CREATE TABLE notes (id INTEGER, body TEXT)');
  });
  afterEach(async () => {
    await pool.query(`DROP DATABASE ${name}`);
    await pool.close();
  });

  it('stops the statement of a client that has disconnected, and its locks', async () => {
    const client = new AbortController();
    const app = new Container();
    app.register('IDatabasePool', () => pool);
    await pool.query("INSERT INTO notes VALUES (1, 'first')");
    const started = performance.now();
    const aborted = runInTransaction(
      app,
      async (scope) => {
        const connection = scope.resolve<IConnection>('IConnection');
        await connection.query("UPDATE notes SET body = 'second'");
        setTimeout(() => client.abort(), 50);
        await connection.query('SELECT SLEEP(100)');
      },
      { signal: client.signal, cancelAfterMs: 0 },
    );
    await expect(aborted).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    await pool.query("UPDATE notes SET body = 'third'");
    expect(performance.now() - started).toBeLessThan(60_000);
  });

  it.each([
    'CREATE TABLE more (id INTEGER)',
    '# now\nDROP TABLE notes',
    'truncate notes',
    'LOCK TABLES notes READ',
    'SET STATEMENT max_statement_time = 5 FOR TRUNCATE notes',
    'CREATE TEMPORARY SEQUENCE numbers',
    'BACKUP STAGE START',
  ])('refuses %j in a transaction, which the server would commit before it', async (sql) => {
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query("INSERT INTO notes VALUES (1, 'gone')");
    await expect(connection.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
    await connection.rollback();
    connection.release();
    expect(await pool.query('SELECT * FROM notes')).toEqual([]);
  });

  it.each([
    '/*! COMMIT */',
    '/*M!100100 ROLLBACK */',
    '# now\nCOMMIT',
    'SET autocommit = 1',
    "SET sql_mode = '', autocommit = 0",
    'SET @@session.autocommit = 0',
    'SET `autocommit` = 0',
    'SET STATEMENT max_statement_time = 5 FOR SET autocommit = 0',
    'SET STATEMENT max_statement_time = 5 FOR COMMIT',
    'IF 1 THEN COMMIT; END IF',
    'XA BEGIN "x"',
  ])('refuses %j, which no other database would run', async (sql) => {
    await expect(pool.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
  });

  it('binds parameters outside of literals, names and comments, in any order', async () => {
    const sql = "SELECT CONCAT($2, $1, $2) AS `$1`, '$1\\'$2' AS a, \"$3\" AS b /* $4 */ -- $5\n # $6";
    expect(await pool.query(sql, ['b', 'a'])).toEqual([{ $1: 'aba', a: "$1'$2", b: '$3' }]);
    expect(await pool.query('SELECT body FROM notes LIMIT $1', [1])).toEqual([]);
  });

  it('begins with the isolation that was asked for', async () => {
    await pool.query("INSERT INTO notes VALUES (1, 'a')");
    const connection = await pool.getConnection();
    for (const [isolation, seen] of [
      ['read committed', 2],
      ['repeatable read', 1],
    ] as const) {
      const other = await mysql.createConnection(`${mariadbUrl}/${name}`);
      await other.query("DELETE FROM notes WHERE body = 'b'");
      await connection.beginTransaction({ isolation });
      await connection.query('SELECT * FROM notes');
      await other.query("INSERT INTO notes VALUES (2, 'b')");
      expect(await connection.query('SELECT * FROM notes')).toHaveLength(seen);
      await connection.rollback();
      await other.end();
    }
    connection.release();
  });

  // MariaDB begins a transaction of its own again where a savepoint that is older than the first statement is rolled back.
  it.each([
    ['repeatable read', 'reads what it began with', 'at once'],
    ['serializable', 'keeps the locks of what it has read', 'ER_LOCK_WAIT_TIMEOUT'],
  ] as const)('at %s, after the rollback of a savepoint that came first, %s', async (isolation, _what, written) => {
    const connection = await pool.getConnection();
    const other = await mysql.createConnection(`${mariadbUrl}/${name}`);
    await other.query('SET innodb_lock_wait_timeout = 1');
    await connection.beginTransaction({ isolation });
    await connection.query('SAVEPOINT first');
    expect(await connection.query('SELECT * FROM notes')).toEqual([]);
    await connection.query('ROLLBACK TO SAVEPOINT first');
    const writing = other.query("INSERT INTO notes VALUES (1, 'a')").then(
      () => 'at once',
      (error: unknown) => (error as { code: string }).code,
    );
    expect(await writing).toBe(written);
    expect(await connection.query('SELECT * FROM notes')).toEqual([]);
    await connection.commit();
    connection.release();
    await other.end();
  });

  it('gives back what was stored, or refuses it', async () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    onTestFinished(() => void vi.unstubAllEnvs());
    await pool.query('CREATE TABLE kept (at DATETIME(6), bytes BLOB, price DECIMAL(20, 2), json JSON)');
    const bytes = new Uint8Array([0, 1, 44, 255, 7, 7, 7, 7]);
    const kept: [column: string, value: unknown, stored?: unknown][] = [
      ['at', new Date('2024-10-27T00:30:00.123Z')],
      ['at', new Date('9999-12-31T12:00:00Z')],
      ['bytes', new DataView(bytes.buffer, 1, 3), Buffer.from([1, 44, 255])],
      ['bytes', new Uint16Array(bytes.buffer, 2, 1), Buffer.from([44, 255])],
      ['bytes', bytes.subarray(3), Buffer.from([255, 7, 7, 7, 7])],
      ['bytes', bytes.buffer, Buffer.from(bytes)],
      ['json', { a: [1, null] }],
      ['json', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
      [
        'json',
        new (class Money {
          readonly length = 3;
        })(),
        { length: 3 },
      ],
    ];
    for (const [column, value, stored = value] of kept) {
      await pool.query(`INSERT INTO kept (${column}) VALUES ($1)`, [value]);
      expect(await pool.query(`DELETE FROM kept RETURNING ${column} AS value`)).toEqual([{ value: stored }]);
    }
    const circular: unknown[] = [];
    circular.push(circular);
    const refused: [column: string, value: unknown, why: string][] = [
      ['at', new Date(Number.NaN), 'is an invalid date'],
      [
        'at',
        new Date('2024-10-27T01:30:00Z'),
        "2024-10-27T01:30:00.000Z, which mysql2 reads as another time with timezone 'local'",
      ],
      ['at', new Date('0050-06-01T00:00:00Z'), 'is no date of the years 100 to 9999'],
      ['at', new Date('+010000-06-01T00:00:00Z'), 'is no date of the years 100 to 9999'],
      ['price', Infinity, 'is Infinity, not a finite number'],
      ['bytes', 'a\ud800b', 'has half of a surrogate pair'],
      ['bytes', Symbol('a'), 'is a symbol'],
      ['bytes', () => 1, 'is a function'],
      ['json', new Map(), 'is a Map'],
      ['json', { a: 1n }, 'has no JSON: Do not know how to serialize a BigInt'],
      ['json', circular, 'has no JSON: Converting circular structure'],
    ];
    for (const [column, value, why] of refused) {
      const insert = pool.query(`INSERT INTO kept (${column}) VALUES ($1)`, [value]);
      const message = expect.stringContaining(why) as string;
      await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_PARAMETER', message });
    }
    expect(await pool.query('SELECT * FROM kept')).toEqual([]);
  });

  it.each(['Z', '+02:00', '-03:30'])(
    'keeps both hours of the night in which the clock is put back with timezone %j',
    async (timezone) => {
      const unambiguous = fromMysql2Pool(mysql.createPool({ uri: `${mariadbUrl}/${name}`, timezone }), { max: 1 });
      onTestFinished(() => unambiguous.close());
      await pool.query('CREATE TABLE kept (at DATETIME)');
      for (const value of [new Date('2024-10-27T00:30:00Z'), new Date('2024-10-27T01:30:00Z')]) {
        await unambiguous.query('INSERT INTO kept VALUES ($1)', [value]);
        expect(await unambiguous.query('DELETE FROM kept RETURNING at')).toEqual([{ at: value }]);
      }
      const last = unambiguous.query('INSERT INTO kept VALUES ($1)', [new Date('+010000-01-01T04:00:00Z')]);
      await expect(last).rejects.toMatchObject({ code: 'AMBIT_TX_PARAMETER' });
    },
  );

  it('gives the id of a row that AUTO_INCREMENT numbered', async () => {
    await pool.query('CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTO_INCREMENT, body TEXT)');
    const sql = 'INSERT INTO numbered (body) VALUES ($1)';
    for (const insertId of [1, 2]) expect(await pool.execute(sql, ['a'])).toMatchObject({ insertId, rowCount: 1 });
    expect(await pool.execute("UPDATE numbered SET body = 'b'")).not.toHaveProperty('insertId');
  });

  it('does not pass on a setting of the session', async () => {
    await pool.query("SET SESSION sql_mode = 'ANSI'");
    expect(await pool.query('SELECT @@sql_mode AS mode')).not.toEqual([{ mode: expect.stringContaining('ANSI') }]);
  });
});

describe('a pool over node:sqlite with keepOpen', () => {
  it('leaves no transaction open in the database of its owner', async () => {
    const opened: DatabaseSync[] = [];
    const database = await inFolder((path, options) => {
      const handle = new DatabaseSync(path, { timeout: 0 });
      opened.push(handle);
      return fromNodeSqlite(handle, { ...options, keepOpen: true });
    });
    const holder = await database.pool().getConnection();
    await holder.beginTransaction();
    const pool = database.pool();
    const connection = await pool.getConnection();
    const outcome = connection.beginTransaction().catch((error: unknown) => error);
    await pool.close();
    await holder.rollback();
    expect(await outcome).toBeInstanceOf(Error);
    expect(opened.map(({ isTransaction }) => isTransaction)).toEqual([false, false]);
    connection.release();
    holder.release();
    await database.drop();
    for (const handle of opened) handle.close();
  });
});

describe('a pool over node:sqlite whose file was deleted', () => {
  it('acknowledges nothing that nobody can find, once a second has passed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
    const path = join(folder, 'shop.db');
    const handle = new DatabaseSync(path, { timeout: 0 });
    handle.exec('PRAGMA journal_mode = WAL');
    const pool = fromNodeSqlite(handle);
    await pool.query('CREATE TABLE notes (id INTEGER)');
    rmSync(path);
    const refused = { code: 'AMBIT_TX_FILE', sqlState: '58030' };
    const insert = (): Promise<unknown> => pool.query('INSERT INTO notes VALUES (1)');
    await vi.waitFor(() => expect(insert()).rejects.toMatchObject(refused), WAIT_MS);
    await expect(inTransaction(pool, (connection) => connection.query('SELECT 1'))).rejects.toMatchObject(refused);
    await pool.close();
    rmSync(folder, { recursive: true });
  });
});
