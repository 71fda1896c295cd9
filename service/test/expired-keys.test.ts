import { connectionLost } from '@ambit/host-contract';
import { expect, test, vi } from 'vitest';
import { createKeys } from '../src/infrastructure.js';
import { onEveryStage } from './support/every-stage.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const DAY_MS = 86_400_000;

onEveryStage((stage) => {
  const keys = (): Promise<object[]> => stage.rows('SELECT key FROM idempotency_keys');
  const remove = (): Promise<number> => stage.app.container.resolve('IIdempotency').removeExpired();

  test('keys are deleted after a day, younger ones are kept', async () => {
    await stage.post('/api/users', ADA, { 'idempotency-key': 'old' });
    await stage.rows('UPDATE idempotency_keys SET created_at = created_at - CAST($1 AS bigint)', [DAY_MS]);
    await stage.post('/api/users', ADA, { 'idempotency-key': 'young' });
    await remove();
    expect(await keys()).toEqual([{ key: 'young' }]);
  });

  test('many of them are deleted in batches of a thousand, each after the one before, and other work runs in between', async () => {
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
  });

  test('a failure to delete them is logged, and the service starts nevertheless', async () => {
    const query = vi.spyOn(stage.app.pool, 'query').mockRejectedValueOnce(connectionLost());
    const expired = createKeys(stage.app.pool, stage.app.container.resolve('ISqlDialect'), stage.app.log.logger);
    expired.start();
    expired.dispose();
    query.mockRestore();
    const msg = 'Expired idempotency keys were not deleted; the next attempt is in an hour';
    expect(await stage.app.log.finds({ msg })).toMatchObject({ level: 40, err: { code: 'AMBIT_TX_CONNECTION_LOST' } });
  });
});
