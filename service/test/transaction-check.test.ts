import { hasTag, Registration, scope, singleton } from '@ambit/container';
import { expect, test } from 'vitest';
import { onBothHosts } from './support/stage.js';

const perTransaction = [singleton(), scope(hasTag('transaction'))] as const;

// Every test of the service runs with TRANSACTION_CHECK=throw, and asserts in the end that nothing was found.
onBothHosts((stage) => {
  test('a statement on the pool in a transaction would be found, and refused', async () => {
    stage.replace(
      Registration.fromFactory(
        (pool) => ({
          reserve: async () => void (await pool.query('SELECT level FROM stock WHERE product_id = $1', ['apple'])),
        }),
        ['IDatabasePool'],
      )
        .pipe(...perTransaction)
        .to('IInventoryService'),
    );
    const response = await stage.post('/api/orders', { items: [{ productId: 'apple', quantity: 1 }] });
    expect(response.status).toBe(500);
    const check = stage.app.container.resolve('ITransactionCheck');
    expect(check.findings).toMatchObject([
      {
        kind: 'outside-statement',
        route: 'POST /api/orders',
        place: { file: 'service/test/transaction-check.test.ts' },
      },
    ]);
    expect(await stage.app.log.finds({ level: 40 })).toMatchObject({ msg: expect.stringContaining('[AMBIT_TX_CHECK') });
    expect(() => check.assertNone()).toThrow('A statement ran on the pool');
  });
});
