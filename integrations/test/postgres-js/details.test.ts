import { type IConnection, runInTransaction } from '@ambit/transaction';
import { postgresJsOn } from '@ambit/orm/postgres-js';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres, { type Sql } from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type App, openApp } from '../support/app.js';

const nowhere = { host: '127.0.0.1', port: 1 };
const application = postgres(nowhere);
let app: App;
/** The library on a connection of its own, which says what has to come out. */
let own: Sql;

beforeAll(async () => {
  app = await openApp('PostgreSQL');
  await app.pool.query("CREATE TYPE mood AS ENUM ('calm', 'busy')");
  await app.pool.query(
    'CREATE TABLE things (id INTEGER PRIMARY KEY, data JSONB, tags TEXT[], numbers INTEGER[], times TIMESTAMPTZ[], moods mood[], bytes BYTEA)',
  );
  own = postgres(app.address.replace(/\?.*/, ''), {
    max: 1,
    connection: { search_path: app.schema },
    onnotice: () => {},
  });
});
beforeEach(() => app.pool.query('DELETE FROM things'));
afterAll(async () => {
  await own.end();
  await app.drop();
});

const inTransaction = <T>(work: (sql: Sql, connection: IConnection) => Promise<T>): Promise<T> =>
  runInTransaction(app.container, (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    return work(postgresJsOn(connection, application), connection);
  });

const AT = new Date('2024-02-29T12:34:56.789Z');
const BYTES = Buffer.from([0, 255, 92]);

/** Everything that the documentation of postgres.js shows of its template. */
const QUERIES: Readonly<Record<string, (sql: Sql) => PromiseLike<unknown>>> = {
  values: (sql) =>
    sql`SELECT ${1}::int AS n, ${'a'} AS t, ${true} AS b, ${null} AS z, ${AT} AS d, ${10n as never} AS i, ${BYTES} AS y`,
  'a fragment in a fragment': (sql) => sql`SELECT ${sql`1 + ${sql`${2}::int`}`} AS n`,
  'a list of fragments': (sql) => sql`SELECT 1 AS n WHERE true ${[sql`AND ${1}::int = 1`, sql`AND ${2}::int = 2`]}`,
  'an empty fragment': (sql) => sql`SELECT 1 AS n ${sql``}`,
  identifiers: (sql) => sql`SELECT ${sql('n')}, ${sql(['n', 't'])} FROM (SELECT 1 AS n, 2 AS t) ${sql('all"things')}`,
  'an object in SELECT': (sql) => sql`SELECT ${sql({ a: 'x', b: sql`1 + 1` } as never)}`,
  'a list in IN': (sql) => sql`SELECT n FROM generate_series(1, 5) AS n WHERE n IN ${sql([2, 4])}`,
  'an empty list in IN': (sql) => sql`SELECT n FROM generate_series(1, 5) AS n WHERE n IN ${sql([])}`,
  'columns of an object': (sql) =>
    sql`INSERT INTO things ${sql({ id: 1, tags: ['a', 'b,"c"'], bytes: BYTES, extra: 1 }, 'id', 'tags', 'bytes')} RETURNING *`,
  'several rows': (sql) =>
    sql`INSERT INTO things ${sql([
      { id: 1, numbers: [1] },
      { id: 2, numbers: null },
    ])} RETURNING id, numbers`,
  'rows in VALUES': (sql) =>
    sql`SELECT * FROM (VALUES ${sql([
      ['a', 'b'],
      ['c', 'd'],
    ])}) AS t (x, y)`,
  json: (sql) => sql`INSERT INTO things (id, data) VALUES (1, ${sql.json({ a: [1, "b's"], c: null })}) RETURNING data`,
  'a list as json': (sql) =>
    sql`INSERT INTO things (id, data) VALUES (1, ${sql.json([1, 'x'])}) RETURNING data, data->>1 AS x`,
  'json without a column': (sql) => sql`SELECT ${sql.json({ a: 1 })} AS data`,
  arrays: (sql) =>
    sql`SELECT ${sql.array(['a', 'b"c\\', '', 'NULL'])} AS t, ${sql.array([AT])} AS d, ${sql.array([true, false])} AS b`,
  'an array with a type': (sql) =>
    sql`SELECT ${sql.array([1, 2], 1007)} AS n, ${sql.array(
      [
        [1, 2],
        [3, 4],
      ],
      1007,
    )} AS m`,
  'arrays in columns': (sql) =>
    sql`INSERT INTO things (id, tags, numbers, times, moods) VALUES (1, ${['a']}, ${[1, 2]}, ${sql.array([AT])}, ${['busy', 'calm']}) RETURNING *`,
  'a value with a type': (sql) => sql`SELECT ${sql.typed('1', 23)} AS n, ${sql.typed({ a: 1 }, 3802)} AS j`,
  'types of all kinds': (sql) =>
    sql`SELECT 1.5::numeric AS n, 1::int8 AS i, '1 day'::interval AS s, '(1,2)'::point AS p, 'busy'::mood AS m, '2024-02-29'::date AS d,
      '{1,2}'::int8[] AS a, '{1.5}'::numeric[] AS na, '{2024-02-29}'::date[] AS da, '{busy,calm}'::mood[] AS ma, '{}'::int[] AS e,
      '{"{\\"a\\":1}"}'::jsonb[] AS ja`,
  'an unsafe query': (sql) => sql.unsafe('SELECT $1::int AS n, $2::text[] AS t', [1, ['a']]),
  'json in an unsafe query': (sql) => sql.unsafe('SELECT $1::jsonb AS j', [sql.json({ a: 1 })]),
  'an unsafe fragment': (sql) => sql`SELECT ${sql.unsafe('1 + 1')} AS n`,
  'several statements': (sql) => sql.unsafe("SELECT 1 AS a; SELECT 'x;y' AS b"),
  'values()': (sql) => sql`SELECT 1 AS a, 2 AS a`.values(),
  'raw()': (sql) => sql`SELECT 1 AS a, NULL AS b, 'x' AS c`.raw(),
  savepoints: (sql) => sql.begin((inner) => inner.savepoint('part', (part) => part`SELECT 1 AS n`)),
  'queries that a transaction returns': (sql) => sql.begin((inner) => [inner`SELECT 1 AS n`, inner`SELECT 2 AS n`]),
  undefined: (sql) =>
    sql`SELECT ${undefined as never}`.catch((error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return [code, message];
    }),
};

describe('gives what the library gives on its own connection', () => {
  const given = async (sql: Sql, query: (of: Sql) => PromiseLike<unknown>): Promise<unknown> => {
    const result = (await query(sql)) as { count?: number; columns?: { name: string; type: number }[] };
    return [result, result.count, result.columns?.map(({ name, type }) => [name, type])];
  };

  it.each(Object.entries(QUERIES))('%s', async (_name, query) => {
    const undo = new Error('undone');
    let expected: unknown;
    const theirs = own.begin(async (sql) => {
      expected = await given(Object.assign(sql as unknown as Sql, { begin: sql.savepoint }), query);
      throw undo;
    });
    await expect(theirs).rejects.toBe(undo);
    expect(await inTransaction((sql) => given(sql, query))).toEqual(expected);
  });
});

it('gives null where an array has NULL, for which the library gives NaN or a text', async () => {
  const [row] = await inTransaction((sql) => sql`SELECT '{1,NULL}'::int[] AS n, '{a,NULL,"NULL"}'::text[] AS t`);
  expect(row).toEqual({ n: [1, null], t: ['a', null, 'NULL'] });
});

it('has types and transforms of the application', async () => {
  const types = {
    point: { to: 600, from: [600], serialize: ([x, y]: number[]) => `(${x},${y})`, parse: JSON.parse.bind(JSON) },
  };
  const parse = (text: string): number[] => text.slice(1, -1).split(',').map(Number);
  const camel = postgres({
    ...nowhere,
    transform: { ...postgres.camel, undefined: null },
    types: { bigint: postgres.BigInt, point: { ...types.point, parse } },
  });
  const rows = await runInTransaction(app.container, async (scope) => {
    const sql = postgresJsOn(scope.resolve<IConnection>('IConnection'), camel);
    return sql`SELECT ${sql({ firstName: 'Ada' })}, ${undefined as never}::int AS no_value, 1::int8 AS big_one, ${sql.types.point([1, 2])} AS a_point,
      ${sql.json({ some_key: 1 })} AS some_json`;
  });
  expect([...rows]).toEqual([
    { firstName: 'Ada', noValue: null, bigOne: 1n, aPoint: [1, 2], someJson: { someKey: 1 } },
  ]);
});

it('reads a file, with one statement or several', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ambit-'));
  const path = join(folder, 'query.sql');
  writeFileSync(path, 'SELECT $1::int AS n');
  expect([...(await inTransaction((sql) => sql.file(path, [7])))]).toEqual([{ n: 7 }]);
  writeFileSync(path, 'SELECT 1 AS n; SELECT 2 AS n');
  expect(await inTransaction((sql) => sql.file(path))).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  await expect(inTransaction((sql) => sql.file(join(folder, 'none.sql')))).rejects.toThrow('ENOENT');
  await rm(folder, { recursive: true });
});

it('calls a function for each row, and gives rows through a cursor, which may be closed', async () => {
  await inTransaction(async (sql) => {
    const seen: number[] = [];
    const all = await sql<{ n: number }[]>`SELECT n FROM generate_series(1, 250) AS n`.forEach(
      ({ n }) => void seen.push(n),
    );
    expect([seen.length, seen.at(-1), all.count]).toEqual([250, 250, 250]);

    const sizes: number[] = [];
    await sql`SELECT n FROM generate_series(1, 25) AS n`.cursor(10, (rows) => void sizes.push(rows.length));
    expect(sizes).toEqual([10, 10, 5]);

    let chunks = 0;
    await sql`SELECT n FROM generate_series(1, 25) AS n`.cursor(10, () => {
      chunks += 1;
      return sql.CLOSE;
    });
    expect(chunks).toBe(1);
    expect([...(await sql`SELECT count(*) FROM pg_cursors WHERE name LIKE 'ambit%'`)]).toEqual([{ count: '0' }]);

    const failing = sql`SELECT 1`.cursor(() => {
      throw new Error('no more');
    });
    await expect(failing).rejects.toThrow('no more');
  });
});

it('refuses what needs a connection of the library, and says so', async () => {
  await inTransaction(async (sql) => {
    const refused = [
      sql.listen('channel', () => undefined),
      sql.subscribe('*', () => undefined),
      sql.largeObject(),
      sql`SELECT 1`.describe(),
      sql`COPY things TO STDOUT`.readable(),
      sql`COPY things FROM STDIN`.writable(),
    ];
    for (const attempt of refused) await expect(attempt).rejects.toMatchObject({ code: 'AMBIT_TX_UNSUPPORTED' });
    await expect(sql.begin((inner) => inner.prepare('other'))).rejects.toMatchObject({ code: 'AMBIT_TX_UNSUPPORTED' });
  });
});

it('notifies after COMMIT', async () => {
  const heard: string[] = [];
  const listening = await own.listen('orders', (payload) => void heard.push(payload));
  await inTransaction(async (sql) => {
    await sql.notify('orders', 'a');
    await own`SELECT 1`;
    expect(heard).toEqual([]);
  });
  await expect.poll(() => heard).toEqual(['a']);
  await listening.unlisten();
});

it('refuses an isolation level that the transaction does not have, and takes that which it has', async () => {
  await inTransaction(async (sql) => {
    expect(await sql.begin('isolation level read committed', (inner) => inner`SELECT 1 AS n`)).toEqual([{ n: 1 }]);
    const other = sql.begin('isolation level serializable', (inner) => inner`SELECT 1`);
    await expect(other).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
    const readOnly = sql.begin('read only', (inner) => inner`SELECT 1`);
    await expect(readOnly).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
  });
});

it('undoes a nested transaction whose query failed, also where nobody waits for the query', async () => {
  await inTransaction(async (sql) => {
    await sql`INSERT INTO things (id) VALUES (1)`;
    const part = sql.begin(async (inner) => {
      await inner`INSERT INTO things (id) VALUES (2)`;
      inner`INSERT INTO things (id) VALUES (1)`.catch(() => undefined);
    });
    await expect(part).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
    expect([...(await sql`SELECT id FROM things`)]).toEqual([{ id: 1 }]);
  });
});

it("rejects with the library's error, its fields and the query, also over the pool of another driver", async () => {
  const error: unknown = await inTransaction(async (sql) => sql`INSERT INTO things (id) VALUES (${1}), (${1})`).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(postgres.PostgresError);
  expect(error).toMatchObject({
    name: 'PostgresError',
    code: '23505',
    severity: 'ERROR',
    severity_local: 'ERROR',
    table_name: 'things',
    constraint_name: 'things_pkey',
    query: 'INSERT INTO things (id) VALUES ($1), ($2)',
    parameters: [1, 1],
    status: 500,
  });
  expect((error as Error).stack).toContain('details.test.ts');
});
