import { connectionLost } from '@ambit/test-kit';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createIdempotency } from '../src/index.js';
import { databases, Orders } from './support/orders.js';

const DAY_MS = 86_400_000;

describe.each(databases)('with $name', ({ dialect, missing, open }) => {
  describe.skipIf(missing)('expired keys', () => {
    let database: Awaited<ReturnType<typeof open>>;
    let orders: Orders;

    beforeAll(async () => {
      database = await open();
      orders = new Orders(database.pool, dialect);
      await orders.createTables();
    });
    beforeEach(() => orders.clear());
    afterAll(() => database.drop());

    const insert = (key: string, ageMs: number) =>
      orders.leave({ key, fingerprint: '', created_at: Date.now() - ageMs });

    const insertMany = (count: number, createdAt: (index: number) => number) =>
      orders.leave(
        ...Array.from({ length: count }, (_, index) => ({
          key: String(index),
          fingerprint: '',
          created_at: createdAt(index),
        })),
      );

    test('are removed, and younger ones are kept', async () => {
      await insert('old', DAY_MS);
      await insert('young', DAY_MS - 60_000);
      expect(await orders.idempotency.removeExpired()).toBe(1);
      expect(await orders.keys()).toEqual(['young']);
    });

    test('are removed at the start', async () => {
      await insert('old', DAY_MS);
      orders.idempotency.start();
      orders.idempotency.start();
      await expect.poll(() => orders.keys()).toEqual([]);
      orders.idempotency.dispose();
    });

    test('are removed a thousand at a time, and not after dispose()', async () => {
      await insertMany(2500, (index) => index + 1);
      const { pool } = orders;
      const stopped = createIdempotency(pool, { dialect });
      const query = vi.spyOn(pool, 'query');
      const removing = stopped.removeExpired();
      stopped.dispose();
      expect(await removing).toBe(1000);
      expect(await createIdempotency(pool, { dialect }).removeExpired()).toBe(1500);
      // On MariaDB it is several statements, on a connection.
      if (dialect !== 'mariadb')
        expect(query.mock.calls.map(([, params]) => params?.[0])).toEqual([-1, -1, 2000, 2500]);
      query.mockRestore();
    });

    test('of one age are all removed, however many they are', async () => {
      await insertMany(1500, () => 7);
      expect(await createIdempotency(orders.pool, { dialect }).removeExpired()).toBe(1500);
      expect(await orders.keys()).toEqual([]);
    });

    test.runIf(dialect === 'mariadb')(
      'are removed by another attempt where the first one ends a deadlock',
      async () => {
        const { pool } = orders;
        // It keeps what a rollback would undo.
        await pool.query('CREATE TABLE attempts (number integer) ENGINE = MyISAM');
        await pool.query(`CREATE TRIGGER first_fails BEFORE DELETE ON idempotency_keys FOR EACH ROW
        IF (SELECT COUNT(*) FROM attempts) = 0 THEN
          INSERT INTO attempts VALUES (1);
          SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;
        END IF`);
        await insert('old', DAY_MS);
        expect(await createIdempotency(pool, { dialect }).removeExpired()).toBe(1);
        expect([await orders.keys(), await pool.query('SELECT number FROM attempts')]).toEqual([[], [{ number: 1 }]]);
        await pool.query('DROP TRIGGER first_fails');
        await pool.query('DROP TABLE attempts');
      },
    );

    test('that cannot be removed are reported, and nothing fails', async () => {
      const { pool } = orders;
      const errors: unknown[] = [];
      const warnings: Error[] = [];
      process.on('warning', (warning) => void warnings.push(warning));
      const uses = [vi.spyOn(pool, 'query'), vi.spyOn(pool, 'getConnection')];
      for (const use of uses) use.mockRejectedValue(connectionLost());
      for (const options of [{ onError: (error: unknown) => void errors.push(error) }, {}]) {
        const keys = createIdempotency(pool, { dialect, ...options });
        keys.start();
        keys.dispose();
      }
      await turn();
      for (const use of uses) use.mockRestore();
      expect(errors).toMatchObject([{ code: 'AMBIT_TX_CONNECTION_LOST' }]);
      await expect
        .poll(() => warnings.map(({ message }) => message))
        .toEqual(['Expired idempotency keys were not removed; the next attempt is in an hour']);
      process.removeAllListeners('warning');
    });
  });
});
