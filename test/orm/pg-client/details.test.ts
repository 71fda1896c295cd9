import { type IConnection, runInTransaction } from '@ambit/transaction';
import { pgClientOn } from '@ambit/orm/pg';
import { sql as pgtyped } from '@pgtyped/runtime';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { DatabaseError, type PoolClient, types } from 'pg';
import QueryStream from 'pg-query-stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as zapatos from 'zapatos/db';
import { type App, openApp } from '../../libraries/app.js';

let app: App;

beforeAll(async () => {
  app = await openApp('PostgreSQL');
  await app.pool.query('CREATE TABLE orders (id INTEGER PRIMARY KEY)');
});
beforeEach(() => app.pool.query('DELETE FROM orders'));
afterAll(() => app.drop());

const inTransaction = <T>(work: (client: PoolClient, connection: IConnection) => Promise<T>): Promise<T> =>
  runInTransaction(app.container, (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    return work(pgClientOn(connection), connection);
  });
const stored = () => app.pool.query('SELECT id FROM orders ORDER BY id');

describe('libraries that take a client of pg', () => {
  const failure = new Error('changed my mind');

  it('pgtyped runs its queries in the transaction', async () => {
    const insert = pgtyped<{
      params: { id: number };
      result: { id: number };
    }>`INSERT INTO orders VALUES ($id!) RETURNING id`;
    const undone = inTransaction(async (client) => {
      expect(await insert.run({ id: 1 }, client)).toEqual([{ id: 1 }]);
      throw failure;
    });
    await expect(undone).rejects.toBe(failure);
    await inTransaction((client) => insert.run({ id: 2 }, client));
    expect(await stored()).toEqual([{ id: 2 }]);
  });

  it('a transaction of zapatos is a nested run', async () => {
    await inTransaction(async (client) => {
      const insert = (id: number, on: zapatos.Queryable) =>
        zapatos.sql`INSERT INTO orders VALUES (${zapatos.param(id)})`.run(on);
      await zapatos.transaction(client, zapatos.IsolationLevel.ReadCommitted, (inner) => insert(1, inner));
      const undone = zapatos.transaction(client, zapatos.IsolationLevel.ReadCommitted, async (inner) => {
        await insert(2, inner);
        throw failure;
      });
      await expect(undone).rejects.toBe(failure);
      const other = zapatos.serializable(client, (inner) => insert(3, inner));
      await expect(other).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
    });
    expect(await stored()).toEqual([{ id: 1 }]);
  });

  it('a transaction of drizzle() on a client is a nested run', async () => {
    const orders = pgTable('orders', { id: integer().primaryKey() });
    await inTransaction(async (client) => {
      const db = drizzle(client);
      await db.transaction((tx) => tx.insert(orders).values({ id: 1 }));
      const undone = db.transaction(async (tx) => {
        await tx.insert(orders).values({ id: 2 });
        await tx.transaction((inner) => inner.insert(orders).values({ id: 1 }));
      });
      await expect(undone).rejects.toMatchObject({ cause: { code: '23505' } });
      expect(await db.select().from(orders)).toEqual([{ id: 1 }]);
    });
    expect(await stored()).toEqual([{ id: 1 }]);
  });
});

it('takes callbacks, a QueryConfig with values of their own, and several statements', async () => {
  await inTransaction(async (client) => {
    const called = new Promise((resolve) => {
      client.query('SELECT $1::int AS n', [1], (error, { rows }) => resolve([error, rows]));
    });
    expect(await called).toEqual([null, [{ n: 1 }]]);
    const failed = new Promise((resolve) => client.query("SELECT 'x'::int", (error) => resolve(error)));
    expect(await failed).toBeInstanceOf(DatabaseError);
  }).catch(() => undefined);
  await inTransaction(async (client) => {
    expect((await client.query({ text: 'SELECT $1::int AS n' }, [2])).rows).toEqual([{ n: 2 }]);
    const results = (await client.query("SELECT 1 AS n; SELECT ';' AS s")) as unknown as { rows: object[] }[];
    expect(results.map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ s: ';' }]]);
    await expect(client.query('SELECT $1::int; SELECT 2', [1])).rejects.toMatchObject({ code: '42601' });
  }).catch(() => undefined);
});

it('lets a callback throw as it does in pg: the error is no rejection of the query', async () => {
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  const thrown = new Promise((resolve) => process.once('uncaughtException', resolve));
  const failure = new Error('of the callback');
  await inTransaction(async (client) => {
    client.query('SELECT 1', () => {
      throw failure;
    });
    expect(await thrown).toBe(failure);
  });
  for (const listener of listeners) process.on('uncaughtException', listener);
});

it('has parsers of its own, as a client has', async () => {
  await inTransaction(async (client) => {
    client.setTypeParser(20, BigInt);
    expect((await client.query('SELECT 1::int8 AS n')).rows).toEqual([{ n: 1n }]);
    expect((await client.query({ text: 'SELECT 1::int8 AS n', types })).rows).toEqual([{ n: '1' }]);
    expect(client.escapeIdentifier('a"b') + client.escapeLiteral("a'b")).toBe(`"a""b"'a''b'`);
    expect(client.getTransactionStatus()).toBe('T');
  });
});

it("rejects with pg's error and its fields", async () => {
  const error: unknown = await inTransaction((client) => client.query('INSERT INTO orders VALUES (1), (1)')).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error).toMatchObject({
    code: '23505',
    table: 'orders',
    constraint: 'orders_pkey',
    detail: 'Key (id)=(1) already exists.',
  });
  expect(error).toMatchObject({
    name: 'error',
    status: 500,
    retryable: false,
    cause: { code: 'AMBIT_TX_STATEMENT_FAILED' },
  });
});

it('refuses cursors and streams, and goes on', async () => {
  await inTransaction(async (client) => {
    expect(() => client.query(new QueryStream('SELECT 1'))).toThrow('takes a text or a QueryConfig');
    expect((await client.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
  });
});

it('begins one nested transaction after another, and one at a time', async () => {
  await inTransaction(async (client) => {
    for (const [id, end] of [
      [1, 'COMMIT'],
      [2, 'ROLLBACK'],
      [3, 'end'],
      [4, 'abort work'],
    ] as const) {
      expect((await client.query('begin transaction')).command).toBe('BEGIN');
      await client.query('INSERT INTO orders VALUES ($1)', [id]);
      expect((await client.query(end)).command).toBe(end === 'COMMIT' || end === 'end' ? 'COMMIT' : 'ROLLBACK');
    }
    await client.query('BEGIN');
    await expect(client.query('BEGIN')).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
    await client.query('COMMIT');
  });
  expect(await stored()).toEqual([{ id: 1 }, { id: 3 }]);
});

it('can roll a nested transaction back after its COMMIT failed, which it does where a statement failed', async () => {
  await inTransaction(async (client) => {
    await client.query('BEGIN; INSERT INTO orders VALUES (1)');
    await client.query('INSERT INTO orders VALUES (1)').catch(() => undefined);
    await expect(client.query('COMMIT')).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
    await client.query('ROLLBACK');
    await client.query('INSERT INTO orders VALUES (2)');
  });
  expect(await stored()).toEqual([{ id: 2 }]);
});

it('does not commit while a nested transaction that nobody completed is in progress', async () => {
  const open = inTransaction((client) => client.query('BEGIN; INSERT INTO orders VALUES (1)'));
  await expect(open).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', cause: { code: 'AMBIT_TX_NESTED' } });
  expect(await stored()).toEqual([]);
});
