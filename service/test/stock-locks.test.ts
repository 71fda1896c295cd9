import { setTimeout as pause } from 'node:timers/promises';
import type { IConnection } from '@ambit/transaction';
import { describe, expect, test } from 'vitest';
import { mariadb, sqlite } from './support/databases.js';
import { onEveryStage } from './support/every-stage.js';
import type { JsonResponse } from './support/http.js';
import type { Stage } from './support/stage.js';
import { order, setStock, shortOf, stockOf } from './support/stock.js';

onEveryStage((stage) => {
  // On SQLite a transaction that writes locks the whole file.
  describe.skipIf(stage.kind === sqlite)('while another transaction has locked a product', () => {
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

    test('an order takes from the level that the other left', async () => {
      await setStock(stage, { apple: 10, fig: 10 });
      const takeSix = (other: IConnection) => other.query('UPDATE stock SET level = level - 6 WHERE level = 10');
      expect((await orderBehind(takeSix, ['fig', 4], ['apple', 4])).status).toBe(201);
      expect(await stockOf(stage)).toEqual({ apple: 0, fig: 0 });
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

  test.skipIf(stage.kind === sqlite)('an order that waits for one product has not locked the next ones', async () => {
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
});

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
