import { type IConnection, TransactionError } from '@ambit/transaction';
import { describe, expect } from 'vitest';
import type { StageTest } from '../stage-test.js';

/** Of each the databases say something that names a constraint, a table or a part of the statement. */
const STATEMENTS_THAT_FAIL = [
  'INSERT INTO orders (id) VALUES ($1)',
  'SELECT * FROM no_such_table WHERE id = $1',
  'SELECT * FROM FROM orders WHERE id = $1',
];
const FROM_THE_DATABASE = /\borders|_pkey|unique|constraint|no_such|relation|syntax|insert into|select|\$1/i;

/** What a client learns from the framework's own error handler, where the application has none. */
export function bareErrorResponseContract(test: StageTest): void {
  describe('without an error handler of the application', () => {
    test.for(STATEMENTS_THAT_FAIL)(
      'a handler whose %j fails is responded to with 500 and none of it',
      async (sql, { stage }) => {
        await stage.serveOrder(
          async (call) => {
            await stage.insertOrder(call);
            await call.transactionScope.resolve<IConnection>('IConnection').query(sql, [stage.orderId]);
          },
          { ownErrorHandler: false },
        );
        const response = await stage.order();
        expect(response.status).toBe(500);
        expect(response.text).toContain('AMBIT_TX_STATEMENT_FAILED');
        expect(response.text).not.toMatch(FROM_THE_DATABASE);
        expect(await stage.stored()).toBe(false);
      },
    );

    test.for([{ status: 418 }, { statusCode: 418 }])(
      'an error with %o is responded to with that, and its transaction is rolled back',
      async (own, { stage }) => {
        await stage.serveOrder(
          async (call) => {
            await stage.insertOrder(call);
            throw Object.assign(new Error('no coffee'), own);
          },
          { ownErrorHandler: false },
        );
        expect((await stage.order()).status).toBe(418);
        expect(await stage.stored()).toBe(false);
      },
    );

    test('an order that finds its pool closed is responded to with 503', async ({ stage }) => {
      await stage.serveOrder(() => expect.unreachable('a handler without a transaction'), { ownErrorHandler: false });
      stage.pool.beforeAcquire(() => {
        throw new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool is closed');
      });
      const response = await stage.order();
      expect(response.status).toBe(503);
      expect(response.text).toContain('AMBIT_TX_POOL_CLOSED');
    });
  });
}
