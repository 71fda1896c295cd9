import { expect, test } from 'vitest';
import { InventoryService } from '../src/orders/orders.js';
import { onEveryStage } from './support/every-stage.js';
import type { Stage } from './support/stage.js';
import { order, requestIdOf, reservations, setStock, shortOf, stockOf } from './support/stock.js';

async function expectNothingStored(stage: Stage): Promise<void> {
  for (const table of ['orders', 'order_items', 'reservations'])
    expect(await stage.rows(`SELECT * FROM ${table}`)).toEqual([]);
}

onEveryStage((stage) => {
  test('a product with enough in stock is taken from it', async () => {
    await setStock(stage, { apple: 10, pear: 10 });
    const response = await order(stage, ['apple', 3], ['pear', 1]);
    expect(response.status).toBe(201);
    expect(await stockOf(stage)).toEqual({ apple: 7, pear: 9 });
  });

  test('a product can be sold out to the last piece', async () => {
    await setStock(stage, { apple: 3 });
    expect((await order(stage, ['apple', 3])).status).toBe(201);
    expect(await stockOf(stage)).toEqual({ apple: 0 });
    expect(await order(stage, ['apple', 1])).toMatchObject(shortOf('"apple": 1 wanted, 0 left'));
  });

  test('not enough of a product names it, and stores nothing', async () => {
    await setStock(stage, { apple: 3, pear: 10 });
    const response = await order(stage, ['pear', 2], ['fig', 1], ['apple', 4]);
    expect(response).toMatchObject(shortOf('"apple": 4 wanted, 3 left'));
    expect(await stockOf(stage)).toEqual({ apple: 3, pear: 10 });
    await expectNothingStored(stage);
  });

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

  test('a product without a stock level can be ordered freely', async () => {
    expect((await order(stage, ['apple', 1_000_000])).status).toBe(201);
    expect(await stockOf(stage)).toEqual({});
  });

  test('what was taken of each product is recorded, tracked or not', async () => {
    await setStock(stage, { apple: 10 });
    const response = await order(stage, ['apple', 3], ['fig', 2], ['apple', 1]);
    expect(await reservations(stage, requestIdOf(response))).toEqual([
      { product: 'apple', quantity: 4 },
      { product: 'fig', quantity: 2 },
    ]);
  });

  test('of two products whose ids differ in case or in spaces each has its own stock', async () => {
    await setStock(stage, { apple: 1, Apple: 2, 'apple ': 3 });
    expect((await order(stage, ['Apple', 1], ['apple ', 1])).status).toBe(201);
    expect(await stockOf(stage)).toEqual({ apple: 1, Apple: 1, 'apple ': 2 });
  });

  test('20 orders at once for the last 10 pieces sell 10', async () => {
    await setStock(stage, { apple: 10 });
    const responses = await Promise.all(Array.from({ length: 20 }, () => order(stage, ['apple', 1])));
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(statuses.filter((status) => status === 409)).toHaveLength(10);
    expect(await stockOf(stage)).toEqual({ apple: 0 });
    expect(await stage.rows('SELECT id FROM orders')).toHaveLength(10);
  });

  test('20 orders at once for the same products in different sequences do not deadlock', async () => {
    await setStock(stage, { apple: 100, fig: 100, pear: 100 });
    const wanted = [['apple', 1] as const, ['fig', 1] as const, ['pear', 1] as const];
    const orders = Array.from({ length: 20 }, (_, index) =>
      order(stage, ...(index % 2 === 0 ? wanted : wanted.toReversed())),
    );
    expect((await Promise.all(orders)).map(({ status }) => status)).toEqual(Array<number>(20).fill(201));
    expect(await stockOf(stage)).toEqual({ apple: 80, fig: 80, pear: 80 });
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
    expect(await reservations(stage, 'r1')).toEqual([]);
  });
});
