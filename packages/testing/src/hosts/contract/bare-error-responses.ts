import { type IConnection, TransactionError } from '@ambit/transaction';
import { describe, expect } from 'vitest';
import type { StageTest } from '../stage-test.js';

/** The database's own message of each failure names a constraint, a table or a part of the statement. */
const STATEMENTS_THAT_FAIL = [
  'INSERT INTO orders (id) VALUES ($1)',
  'SELECT * FROM no_such_table WHERE id = $1',
  'SELECT * FROM FROM orders WHERE id = $1',
];
const FROM_THE_DATABASE = /\borders|_pkey|unique|constraint|no_such|relation|syntax|insert into|select|\$1/i;

/** The application's error handlers respond with `problemOf(error)` of their host. */
export function problemDetailsContract(test: StageTest): void {
  const own = Object.assign(new Error('no coffee'), { statusCode: 418 });
  const full = Object.assign(new Error('pool of 10'), { unavailable: true, code: 'AMBIT_TX_POOL_FULL' });
  test.for([
    { error: own, problem: { status: 418, detail: 'no coffee' }, retryAfter: undefined },
    { error: new Error('secret'), problem: { status: 500, detail: 'Internal error' }, retryAfter: undefined },
    { error: full, problem: { status: 503, detail: 'Try again later', code: full.code }, retryAfter: '1' },
  ])(
    'an error handler responds with problem details: $problem.detail',
    async ({ error, problem, retryAfter }, { stage }) => {
      await stage.serveOrder(stage.orderThen(() => Promise.reject(error)));
      const { status, headers, text } = await stage.order();
      expect([status, headers['retry-after']]).toEqual([problem.status, retryAfter]);
      expect(headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(JSON.parse(text)).toEqual({ type: 'about:blank', ...problem });
      expect(await stage.stored()).toBe(false);
    },
  );
}

/** The response of the framework's own error handler, where the application has none. */
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
          stage.orderThen(() => Promise.reject(Object.assign(new Error('no coffee'), own))),
          { ownErrorHandler: false },
        );
        expect((await stage.order()).status).toBe(418);
        expect(await stage.stored()).toBe(false);
      },
    );

    const conflict = { sqlState: '40001' };
    test.for([
      { what: 'finds its pool closed', at: 'acquire', error: new TransactionError('AMBIT_TX_POOL_CLOSED', 'Closed') },
      { what: 'conflicts', at: 'query', error: new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'Refused', conflict) },
    ] as const)('an order that $what is responded to with 503 and Retry-After', async ({ at, error }, { stage }) => {
      await stage.serveOrder(stage.createOrder, { ownErrorHandler: false });
      const refuse = (): never => {
        throw error;
      };
      if (at === 'acquire') stage.pool.beforeAcquire(refuse);
      else stage.pool.before(at, refuse);
      const response = await stage.order();
      expect(response).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(response.text).toContain('AMBIT_TX_');
      expect(await stage.stored()).toBe(false);
    });
  });
}
