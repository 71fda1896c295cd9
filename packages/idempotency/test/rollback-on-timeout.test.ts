import { canStartMariadb, mariadbPool, type OwnMariadb, startMariadb } from '@ambit/test-kit';
import { runInTransaction } from '@ambit/transaction';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Orders } from './support/orders.js';

describe.skipIf(!canStartMariadb())('where a lock that took too long undoes the whole transaction on MariaDB', () => {
  let server: OwnMariadb;
  beforeAll(async () => void (server = await startMariadb(['--innodb-rollback-on-timeout=ON'])));
  afterAll(() => server.stop());

  test('a key that is in use is refused as such, and nothing of its transaction is stored', async () => {
    const pool = mariadbPool(server.url, { max: 2 });
    const orders = new Orders(pool, 'mariadb');
    await orders.createTables();
    const first = await pool.getConnection();
    await first.beginTransaction();
    await first.query("INSERT INTO idempotency_keys (`key`, fingerprint, created_at) VALUES ('a-key', '', 1)");
    let later: unknown;
    const second = runInTransaction(orders.app, async (scope) => {
      await orders.place(scope);
      try {
        await orders.idempotency.respond(scope, orders.request(), orders.place);
      } finally {
        later = await orders.place(scope).catch((error: unknown) => error);
      }
    });
    await expect(second).rejects.toMatchObject({ code: 'AMBIT_IDEMPOTENCY_KEY', problem: 'running', status: 409 });
    expect(later).toMatchObject({ code: 'AMBIT_TX_FAILED' });

    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query("INSERT INTO orders (id) VALUES ('1')");
    const waiting = connection.query('SET STATEMENT innodb_lock_wait_timeout = 0 FOR DELETE FROM idempotency_keys');
    await expect(waiting).rejects.toMatchObject({ sqlState: '55P03' });
    await expect(connection.query("INSERT INTO orders (id) VALUES ('2')")).rejects.toMatchObject({ sqlState: '25P01' });
    await expect(connection.commit()).rejects.toMatchObject({ sqlState: '40000' });
    connection.release();
    await first.rollback();
    first.release();
    expect([await orders.stored(), await orders.keys()]).toEqual([0, []]);
    await pool.close();
  });
});
