import { connectionLost, databases } from '@ambit/host-contract';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createIdempotency } from '../src/index.js';
import { Orders } from './support/orders.js';

const DAY_MS = 86_400_000;

describe.each(databases)('with $name', ({ name, missing, open }) => {
  describe.skipIf(missing)('expired keys', () => {
    let database: Awaited<ReturnType<typeof open>>;
    let orders: Orders;

    beforeAll(async () => {
      database = await open();
      orders = new Orders(database.pool, name === 'SQLite' ? 'sqlite' : 'postgres');
      await orders.createTables();
    });
    beforeEach(() => orders.clear());
    afterAll(() => database.drop());

    const insert = (key: string, ageMs: number) =>
      orders.pool.query(`INSERT INTO idempotency_keys (key, fingerprint, created_at) VALUES ($1, '', $2)`, [
        key,
        Date.now() - ageMs,
      ]);

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
      await orders.pool.query(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
         INSERT INTO idempotency_keys (key, fingerprint, created_at) SELECT CAST(n AS text), '', n FROM numbers`,
      );
      const { dialect, pool } = orders;
      const stopped = createIdempotency(pool, { dialect });
      const query = vi.spyOn(pool, 'query');
      const removing = stopped.removeExpired();
      stopped.dispose();
      expect(await removing).toBe(1000);
      expect(await createIdempotency(pool, { dialect }).removeExpired()).toBe(1500);
      expect(query.mock.calls.map(([, params]) => params?.[0])).toEqual([-1, -1, 2000, 2500]);
      query.mockRestore();
    });

    test('that cannot be removed are reported, and nothing fails', async () => {
      const { dialect, pool } = orders;
      const errors: unknown[] = [];
      const warnings: Error[] = [];
      process.on('warning', (warning) => void warnings.push(warning));
      const query = vi.spyOn(pool, 'query').mockRejectedValue(connectionLost());
      for (const options of [{ onError: (error: unknown) => void errors.push(error) }, {}]) {
        const keys = createIdempotency(pool, { dialect, ...options });
        keys.start();
        keys.dispose();
      }
      await turn();
      query.mockRestore();
      expect(errors).toMatchObject([{ code: 'AMBIT_TX_CONNECTION_LOST' }]);
      await expect
        .poll(() => warnings.map(({ message }) => message))
        .toEqual(['Expired idempotency keys were not removed; the next attempt is in an hour']);
      process.removeAllListeners('warning');
    });
  });
});
