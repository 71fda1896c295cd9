import { connectionLost } from '@ambit/host-contract';
import { expect, test, vi } from 'vitest';
import { createKeys } from '../src/infrastructure.js';
import { mariadb } from './support/databases.js';
import { onEveryStage } from './support/every-stage.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const DAY_MS = 86_400_000;

onEveryStage((stage) => {
  const keys = (): Promise<object[]> => stage.rows('SELECT idempotency_keys.key FROM idempotency_keys');
  const remove = (): Promise<number> => stage.app.container.resolve('IIdempotency').removeExpired();

  test('keys are deleted after a day, younger ones are kept', async () => {
    await stage.post('/api/users', ADA, { 'idempotency-key': 'old' });
    await stage.rows('UPDATE idempotency_keys SET created_at = created_at - $1', [DAY_MS]);
    await stage.post('/api/users', ADA, { 'idempotency-key': 'young' });
    await remove();
    expect(await keys()).toEqual([{ key: 'young' }]);
  });

  // On MariaDB a batch is a transaction, which the tests of the package look at.
  test.skipIf(stage.kind === mariadb)(
    'many of them are deleted in batches of a thousand, each after the one before, and other work runs in between',
    async () => {
      await stage.rows(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
       INSERT INTO idempotency_keys (key, fingerprint, created_at) SELECT CAST(n AS text), '', n FROM numbers`,
      );
      let turn = 0;
      const seen: object[] = [];
      const removeSome = stage.app.pool.query.bind(stage.app.pool);
      const query = vi.spyOn(stage.app.pool, 'query').mockImplementation(async (sql, params) => {
        const began = turn;
        setImmediate(() => turn++);
        const removed = await removeSome(sql, params);
        seen.push({ after: params?.[0], removed: removed.length, began });
        return removed;
      });
      await remove();
      query.mockRestore();
      expect(seen).toEqual([
        { after: -1, removed: 1000, began: 0 },
        { after: 1000, removed: 1000, began: 1 },
        { after: 2000, removed: 500, began: 2 },
        { after: 2500, removed: 0, began: 3 },
      ]);
      expect(await keys()).toEqual([]);
    },
  );

  test('a failure to delete them is logged, and the service starts nevertheless', async () => {
    const spies = (['query', 'getConnection'] as const).map((method) =>
      vi.spyOn(stage.app.pool, method).mockRejectedValueOnce(connectionLost()),
    );
    const expired = createKeys(stage.app.pool, stage.app.container.resolve('ISqlDialect'), stage.app.log.logger);
    expired.start();
    expired.dispose();
    const msg = 'Expired idempotency keys were not deleted; the next attempt is in an hour';
    const record = await stage.app.log.finds({ msg });
    for (const spy of spies) spy.mockRestore();
    expect(record).toMatchObject({ level: 40, err: { code: 'AMBIT_TX_CONNECTION_LOST' } });
  });
});
