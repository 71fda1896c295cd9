import { setTimeout as pause } from 'node:timers/promises';
import type { IConnection } from '@ambit/transaction';
import { describe, expect, test } from 'vitest';
import { InventoryService } from '../src/orders/orders.js';
import { mariadb, serverKinds } from './support/databases.js';
import { onEveryDatabase, type Stage } from './support/stage.js';
import type { JsonResponse } from './support/http.js';
import { order, setStock, shortOf, stockOf } from './support/stock.js';

onEveryDatabase((stage) => {
  const reservations = (requestId: string | null): Promise<object[]> =>
    stage.rows(
      `SELECT product_id AS product, CAST(quantity AS integer) AS quantity FROM reservations
       WHERE request_id = $1 ORDER BY product_id`,
      [requestId],
    );

  test('not enough of several products names the one that the order names first', async () => {
    await setStock(stage, { Apple: 1, apple: 1, pear: 1 });
    expect(await order(stage, ['pear', 2], ['Apple', 2], ['apple', 2])).toMatchObject(
      shortOf('"pear": 2 wanted, 1 left'),
    );
    expect(await order(stage, ['apple', 2], ['Apple', 2])).toMatchObject(shortOf('"apple": 2 wanted, 1 left'));
    expect(await order(stage, ['Apple', 2], ['apple', 2])).toMatchObject(shortOf('"Apple": 2 wanted, 1 left'));
  });

  test('a product named twice is counted together', async () => {
    await setStock(stage, { apple: 5 });
    expect(await order(stage, ['apple', 3], ['apple', 3])).toMatchObject(shortOf('"apple": 6 wanted, 5 left'));
    expect((await order(stage, ['apple', 3], ['apple', 2])).status).toBe(201);
    expect(await stockOf(stage)).toEqual({ apple: 0 });
  });

  test('as much as an order can ask for is counted exactly', async () => {
    await setStock(stage, { apple: 999_999_999 });
    const all = Array.from({ length: 1000 }, () => ['apple', 1_000_000] as const);
    expect(await order(stage, ...all)).toMatchObject(shortOf('"apple": 1000000000 wanted, 999999999 left'));
    expect((await order(stage, ...all.slice(1))).status).toBe(201);
    expect(await stockOf(stage)).toEqual({ apple: 999_999 });
  });

  test('what was taken of each product is recorded, tracked or not', async () => {
    await setStock(stage, { apple: 10 });
    const response = await order(stage, ['apple', 3], ['fig', 2], ['apple', 1]);
    expect(await reservations(response.headers.get('x-request-id'))).toEqual([
      { product: 'apple', quantity: 4 },
      { product: 'fig', quantity: 2 },
    ]);
  });

  test('of two products whose ids differ in case or in spaces each has its own stock', async () => {
    await setStock(stage, { apple: 1, Apple: 2, 'apple ': 3 });
    expect((await order(stage, ['Apple', 1], ['apple ', 1])).status).toBe(201);
    expect(await stockOf(stage)).toEqual({ apple: 1, Apple: 1, 'apple ': 2 });
  });

  test('a product may have any name', async () => {
    const names = ['a,b', '{a}', '"', '\\', `'`, 'null', ' ', '\n', '$1', '👩‍👩‍👧'];
    await setStock(stage, Object.fromEntries(names.map((name) => [name, 3])));
    expect((await order(stage, ...names.map((name) => [name, 2] as const))).status).toBe(201);
    expect(await stockOf(stage)).toEqual(Object.fromEntries(names.map((name) => [name, 1])));
  });

  test('stock that was not taken is not recorded, even if the transaction is committed nevertheless', async () => {
    await setStock(stage, { apple: 1, pear: 10 });
    const connection = await stage.app.pool.getConnection();
    await connection.beginTransaction();
    const context = { requestId: 'r1', startTime: new Date(), setUserId: () => undefined };
    const inventory = new InventoryService(connection, context, stage.app.container.resolve('ISqlDialect'));
    const items = ['pear', 'apple'].map((productId) => ({ productId, quantity: 2 }));
    await expect(inventory.reserve(items)).rejects.toThrow('Not enough stock of "apple": 2 wanted, 1 left');
    await connection.commit();
    connection.release();
    expect(await stockOf(stage)).toEqual({ apple: 1, pear: 10 });
    expect(await reservations('r1')).toEqual([]);
  });
});

// On SQLite a transaction that writes locks the whole file.
onEveryDatabase((stage) => {
  describe('while another transaction has locked a product', () => {
    /** Sends an order that waits for the apples until the other transaction has done something more. */
    async function orderBehind(
      meanwhile: (other: IConnection) => Promise<unknown>,
      ...wanted: readonly (readonly [string, number])[]
    ): Promise<JsonResponse<unknown>> {
      const other = await stage.app.pool.getConnection();
      await other.beginTransaction();
      await other.query(`SELECT product_id FROM stock WHERE product_id = 'apple' FOR UPDATE`);
      const waiting = order(stage, ...wanted);
      await somebodyWaitsFor(stage, other);
      await meanwhile(other);
      await other.commit();
      other.release();
      return waiting;
    }

    test('nothing is taken of one that gets a stock level meanwhile', async () => {
      await setStock(stage, { apple: 3 });
      const { status } = await orderBehind(() => setStock(stage, { pear: 0 }), ['apple', 1], ['pear', 1]);
      // The statement of PostgreSQL does not see the pear, MariaDB reads it when it comes to it.
      const seesIt = stage.kind === mariadb;
      expect(status).toBe(seesIt ? 409 : 201);
      expect(await stockOf(stage)).toEqual({ apple: seesIt ? 3 : 2, pear: 0 });
    });

    test('an order takes from what has just been delivered', async () => {
      await setStock(stage, { apple: 1, fig: 10 });
      const deliver = (other: IConnection) => other.query(`UPDATE stock SET level = 10 WHERE product_id = 'apple'`);
      expect((await orderBehind(deliver, ['fig', 4], ['apple', 4])).status).toBe(201);
      expect(await stockOf(stage)).toEqual({ apple: 6, fig: 6 });
    });

    test('an order is refused for the level that the other left', async () => {
      await setStock(stage, { apple: 10, fig: 10 });
      const takeSix = (other: IConnection) => other.query(`UPDATE stock SET level = 4 WHERE product_id = 'apple'`);
      expect(await orderBehind(takeSix, ['fig', 4], ['apple', 5])).toMatchObject(shortOf('"apple": 5 wanted, 4 left'));
      expect(await stockOf(stage)).toEqual({ apple: 4, fig: 10 });
    });
  });

  test('an order that waits for one product has not locked the next ones', async () => {
    const later = ['plum', 'pear', 'fig', 'kiwi', 'lime'] as const;
    await setStock(stage, Object.fromEntries([...later, 'apple'].map((product) => [product, 10])));
    const lock = (...products: readonly string[]) =>
      `SELECT product_id FROM stock WHERE product_id IN (${products.map((one) => `'${one}'`).join()}) FOR UPDATE NOWAIT`;
    const other = await stage.app.pool.getConnection();
    await other.beginTransaction();
    await other.query(lock('apple'));
    const waiting = order(stage, ...later.map((product) => [product, 1] as const), ['apple', 1]);
    await somebodyWaitsFor(stage, other);
    expect(await other.query(lock(...later))).toHaveLength(later.length);
    await other.rollback();
    other.release();
    expect((await waiting).status).toBe(201);
  });
}, serverKinds);

/** MariaDB looks again when nobody has asked for 100 ms. */
const REFRESH_MS = 120;

/** Waits until another session waits for a row that this connection has locked. */
async function somebodyWaitsFor(stage: Stage, connection: IConnection): Promise<void> {
  const [own, waiting] =
    stage.kind === mariadb
      ? [
          'SELECT CONNECTION_ID() AS session',
          `SELECT waits.requesting_trx_id FROM information_schema.innodb_lock_waits AS waits
           JOIN information_schema.innodb_trx AS holder ON holder.trx_id = waits.blocking_trx_id
           WHERE holder.trx_mysql_thread_id = $1`,
        ]
      : [
          'SELECT pg_backend_pid() AS session',
          'SELECT pid FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))',
        ];
  const [{ session }] = (await connection.query(own)) as [{ session: number }];
  while ((await stage.rows(waiting, [session])).length === 0) await pause(REFRESH_MS);
}
