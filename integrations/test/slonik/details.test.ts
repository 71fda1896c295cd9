import { type IConnection, runInTransaction } from '@ambit/transaction';
import { type SlonikMethods, type SlonikOptions, slonikOn } from '@ambit/orm/slonik';
import {
  CheckIntegrityConstraintViolationError,
  type CommonQueryMethods,
  createPool,
  type DatabasePool,
  ForeignKeyIntegrityConstraintViolationError,
  InputSyntaxError,
  type Interceptor,
  InvalidInputError,
  NotFoundError,
  NotNullIntegrityConstraintViolationError,
  SchemaValidationError,
  sql,
  UnexpectedForeignConnectionError,
  UniqueIntegrityConstraintViolationError,
} from 'slonik';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type App, openApp } from '../support/app.js';

let app: App;
/** The library on connections of its own, which says what has to come out. */
let own: DatabasePool;

beforeAll(async () => {
  app = await openApp('PostgreSQL');
  await app.pool.query("CREATE TYPE mood AS ENUM ('calm', 'busy')");
  await app.pool.query(
    'CREATE TABLE orders (id INTEGER PRIMARY KEY, above INTEGER REFERENCES orders, n INTEGER CHECK (n > 0))',
  );
  own = await createPool(app.address);
});
beforeEach(() => app.pool.query('DELETE FROM orders'));
afterAll(async () => {
  await own.end();
  await app.drop();
});

const inTransaction = <T>(work: (slonik: SlonikMethods) => Promise<T>, options?: SlonikOptions): Promise<T> =>
  runInTransaction(app.container, (scope) => work(slonikOn(scope.resolve<IConnection>('IConnection'), options)));
const insert = (id: number) => sql.unsafe`INSERT INTO orders (id) VALUES (${id})`;
const stored = () => app.pool.query('SELECT id FROM orders ORDER BY id');

const COLUMNS = sql.fragment`1.5::numeric AS n, 9007199254740993::int8 AS i, '1 day'::interval AS s, '2024-02-29'::date AS d,
  '2024-02-29 12:34:56.789'::timestamp AS t, '2024-02-29 12:34:56.789+02'::timestamptz AS tz, '{1,2}'::int8[] AS a,
  '{"2024-02-29 12:34:56+00"}'::timestamptz[] AS ta, '{"a":[1,null]}'::jsonb AS j, true AS b, '{a,"b,c"}'::text[] AS x, 'busy'::text AS m`;

it('gives the values that it gives on its own driver, fields included', async () => {
  const query = sql.unsafe`SELECT ${COLUMNS}`;
  expect(await inTransaction((slonik) => slonik.query(query))).toEqual(await own.query(query));
});

it('has each method of a pool of slonik that sends a query', async () => {
  const pair = z.object({ key: z.string(), value: z.number() });
  const keyed = sql.type(pair)`SELECT 'a' AS key, 1 AS value`;
  const one = sql.unsafe`SELECT 1 AS n`;
  const outcomes = await inTransaction(async (slonik) => [
    await slonik.any(one),
    await slonik.anyFirst(one),
    await slonik.exists(one),
    await slonik.many(one),
    await slonik.manyFirst(one),
    await slonik.maybeOne(one),
    await slonik.maybeOneFirst(one),
    await slonik.one(one),
    await slonik.oneFirst(one),
    await slonik.record(keyed),
    await slonik.connect((connection) => connection.oneFirst(one)),
  ]);
  expect(outcomes).toEqual([[{ n: 1 }], [1], true, [{ n: 1 }], [1], { n: 1 }, 1, { n: 1 }, 1, { a: 1 }, 1]);
});

it('has type parsers of the application, also for types that it created', async () => {
  const typeParsers = [
    { name: 'mood', parse: (text: string) => `mood ${text}` },
    { name: 'int8', parse: BigInt },
  ];
  const read = (slonik: SlonikMethods) =>
    slonik.one(sql.unsafe`SELECT 'busy'::mood AS m, '{calm}'::mood[] AS l, 1::int8 AS n`);
  for (let time = 0; time < 2; time += 1) {
    expect(await inTransaction(read, { typeParsers })).toEqual({ m: 'mood busy', l: ['mood calm'], n: 1n });
  }
  const unknown = inTransaction(read, { typeParsers: [{ name: 'nothing', parse: String }] });
  await expect(unknown).rejects.toThrow('Database type "nothing" not found.');
});

it('calls interceptors', async () => {
  const seen: string[] = [];
  const interceptor: Interceptor = {
    name: 'test',
    transformQuery: (_context, query) => ({ ...query, sql: `${query.sql} /* seen */` }),
    transformRow: (_context, _query, row) => ({ ...row, more: 1 }),
    afterQueryExecution: (_context, query) => {
      seen.push(query.sql);
      return null;
    },
    queryExecutionError: (_context, _query, error) => {
      seen.push(error.constructor.name);
      return null;
    },
  };
  const work = inTransaction(
    async (slonik) => {
      expect(await slonik.one(sql.unsafe`SELECT 1 AS n`)).toEqual({ n: 1, more: 1 });
      await slonik.query(sql.unsafe`SELECT 'x'::int`);
    },
    { interceptors: [interceptor] },
  );
  await expect(work).rejects.toBeInstanceOf(InvalidInputError);
  expect(seen).toEqual(['SELECT 1 AS n /* seen */', 'InvalidInputError']);
});

describe("rejects with slonik's classes", () => {
  it.each([
    ['23505', UniqueIntegrityConstraintViolationError, sql.unsafe`INSERT INTO orders (id) VALUES (1), (1)`],
    ['23503', ForeignKeyIntegrityConstraintViolationError, sql.unsafe`INSERT INTO orders (id, above) VALUES (1, 2)`],
    ['23502', NotNullIntegrityConstraintViolationError, sql.unsafe`INSERT INTO orders (id) VALUES (NULL)`],
    ['23514', CheckIntegrityConstraintViolationError, sql.unsafe`INSERT INTO orders (id, n) VALUES (1, 0)`],
    ['22P02', InvalidInputError, sql.unsafe`SELECT 'x'::int`],
    ['42601', InputSyntaxError, sql.unsafe`SELEKT`],
  ])('%s', async (code, type, query) => {
    const reasonOf = (work: Promise<unknown>): Promise<Error> =>
      work.then(
        () => new Error('none'),
        (error: unknown) => error as Error,
      );
    const error = await reasonOf(inTransaction((slonik) => slonik.query(query)));
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ cause: { code }, status: 500, retryable: false });
    const expected = await reasonOf(own.query(query));
    const { message, constraint, table, column, columns, detail } = expected as UniqueIntegrityConstraintViolationError;
    expect(error).toMatchObject({
      message,
      ...(constraint && { constraint }),
      ...(table && { table, column, columns, detail }),
    });
  });

  it('for what is not as the query says', async () => {
    await inTransaction(async (slonik) => {
      await expect(slonik.one(sql.unsafe`SELECT 1 WHERE false`)).rejects.toBeInstanceOf(NotFoundError);
    });
    const strict = sql.type(z.object({ n: z.string() }))`SELECT 1 AS n`;
    const checking: Interceptor = {
      name: 'schema',
      transformRow: ({ resultParser }, query, row) => {
        const { issues } = resultParser!['~standard'].validate(row) as { issues?: never[] };
        if (issues) throw new SchemaValidationError(query, row, issues);
        return row;
      },
    };
    const work = inTransaction((slonik) => slonik.one(strict), { interceptors: [checking] });
    await expect(work).rejects.toBeInstanceOf(SchemaValidationError);
  });
});

it('sends no query again, and runs no nested transaction again: after a conflict the whole transaction is run again', async () => {
  const conflict = sql.unsafe`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`;
  let attempts = 0;
  let nested = 0;
  const codes: unknown[] = [];
  await inTransaction(async (slonik) => {
    attempts += 1;
    const rethrow = (error: unknown): never => {
      codes.push((error as { code?: unknown }).code);
      throw error;
    };
    if (attempts === 1) await slonik.query(conflict).catch(rethrow);
    const part = (connection: CommonQueryMethods): Promise<unknown> => {
      nested += 1;
      return connection.query(conflict);
    };
    if (attempts === 2) await slonik.transaction(part).catch(rethrow);
  });
  expect([attempts, nested, codes]).toEqual([3, 1, ['40001', '40001']]);
});

it('refuses the pool in its transaction, as slonik does', async () => {
  await inTransaction((slonik) =>
    slonik.transaction(async (inner) => {
      await inner.query(insert(1));
      await expect(slonik.query(insert(2))).rejects.toBeInstanceOf(UnexpectedForeignConnectionError);
    }),
  );
  expect(await stored()).toEqual([{ id: 1 }]);
});

it('makes nested runs of the transactions of a connection, too', async () => {
  await runInTransaction(app.container, async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    await slonikOn(connection).connect(async (one) => {
      await one.transaction(async (inner) => {
        await inner.query(insert(1));
        await connection.query('INSERT INTO orders (id) VALUES (2)');
      });
      const undone = one.transaction(async (inner) => {
        await inner.query(insert(3));
        await connection.query('INSERT INTO orders (id) VALUES (4)');
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
    });
  });
  expect(await stored()).toEqual([{ id: 1 }, { id: 2 }]);
});

it('serves more callers at once than a pool of slonik has connections', async () => {
  await inTransaction(async (slonik) => {
    await Promise.all(Array.from({ length: 50 }, (_, id) => slonik.query(insert(id))));
    expect(await slonik.oneFirst(sql.unsafe`SELECT count(*)::int FROM orders`)).toBe(50);
  });
});
