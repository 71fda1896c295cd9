import type { IConnection } from '@ambit/transaction';
import { SimulatedClock } from '@ambit/transaction/testing';
import { describe, expect } from 'vitest';
import type { Call, Reply } from '../host.js';
import { CREATED, ORDER, type Stage } from '../stage.js';
import type { StageTest } from '../stage-test.js';

/** Node 20 does not parse QUERY. */
const METHODS = process.versions.node.startsWith('20.')
  ? (['GET', 'POST'] as const)
  : (['GET', 'POST', 'QUERY'] as const);

/** Which statuses roll back. */
interface Rules {
  readonly application?: (status: number) => boolean;
  readonly route?: (status: number) => boolean;
}

const COMMITTED = ['acquire', 'begin', 'query', 'commit', 'release'];
const ROLLED_BACK = ['acquire', 'begin', 'query', 'rollback', 'release'];

/** The outcome of a transaction whose handler does not simply respond. */
export function outcomeContract(test: StageTest): void {
  test.for(METHODS)(
    "a transaction with readOnly 'safe-methods' begins as its method says: with %s",
    async (method, { stage }) => {
      const transaction = { readOnly: 'safe-methods' } as const;
      await stage.serve([{ method, path: '/orders', transaction, responseDecides: true, handle: stage.createOrder }]);
      const { status } = await stage.request({ ...ORDER, method, ...(method === 'GET' && { body: undefined }) });
      expect([status, await stage.stored()]).toEqual(method === 'POST' ? [201, true] : [500, false]);
      expect(stage.errors).toHaveLength(method === 'POST' ? 0 : 1);
    },
  );

  describe('a transaction is rolled back before the error response', () => {
    const failures: readonly { name: string; fail: (call: Call) => Promise<void> | void }[] = [
      {
        name: 'throws',
        fail: () => {
          throw new Error('secret');
        },
      },
      { name: 'rejects', fail: () => Promise.reject(new Error('secret')) },
      { name: 'hands over an error', fail: (call) => call.fail(new Error('secret')) },
    ];

    test.for(failures)('when its handler $name', async ({ fail }, { stage }) => {
      await stage.serveOrder(async (call) => {
        await stage.insertOrder(call);
        await fail(call);
      });
      const response = await stage.order();
      expect(stage.pool.steps).toEqual(ROLLED_BACK);
      expect(response.status).toBe(500);
      expect(JSON.parse(response.text)).toEqual({ type: 'about:blank', status: 500, detail: 'Internal error' });
      expect(stage.errors).toMatchObject([{ message: 'secret' }]);
      expect(await stage.stored()).toBe(false);
      await stage.quiet();
      expect(stage.scopes.count('transaction')).toBe(1);
    });

    test('when its handler throws at once, before any statement', async ({ stage }) => {
      await stage.serveOrder(() => {
        throw new Error('secret');
      });
      expect((await stage.order()).status).toBe(500);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'rollback', 'release']);
    });

    test('when a statement fails', async ({ stage }) => {
      await stage.serveOrder(stage.orderThen((call) => stage.insertOrder(call)));
      const response = await stage.order();
      expect(response.status).toBe(500);
      expect(response.text).not.toMatch(/orders|unique/i);
      expect(stage.errors).toMatchObject([{ sqlState: '23505' }]);
      expect(await stage.stored()).toBe(false);
    });

    test('when a statement failed and the handler responds as if it had not', async ({ stage }) => {
      await stage.serveOrder(stage.orderThen((call) => stage.insertOrder(call).catch(() => undefined)));
      const response = await stage.order();
      expect(response.status).toBe(500);
      expect(response.text).not.toContain('created');
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_TX_FAILED' }]);
      expect(await stage.stored()).toBe(false);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'query', 'rollback', 'release']);
    });

    test('when its handler throws something that is no error', async ({ stage }) => {
      await stage.serveOrder(stage.orderThen(() => Promise.reject('a string')));
      expect((await stage.order()).status).toBe(500);
      expect(await stage.stored()).toBe(false);
    });

    test('when it was open for too long, and the handler learns it at its next statement', async ({ stage }) => {
      await stage.serveOrder(
        stage.orderThen(async (call) => {
          await stage.pool.reaches('rollback');
          await stage.insertOrder(call);
        }),
        { transaction: { timeoutMs: 20 } },
      );
      const response = await stage.order();
      expect(response.status).toBeGreaterThanOrEqual(500);
      expect(stage.errors).toHaveLength(1);
      expect(await stage.stored()).toBe(false);
    });

    test('when it was open for too long, though the handler never responds: the client gets 503', async ({ stage }) => {
      const clock = new SimulatedClock();
      await stage.serveOrder(
        stage.orderThen(async () => {
          await clock.run();
          await new Promise(() => undefined);
        }),
        { transaction: { timeoutMs: 100, endTimeoutMs: Infinity, clock } },
      );
      expect((await stage.order()).status).toBe(503);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_TX_TIMEOUT' }]);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(ROLLED_BACK);
      expect(await stage.stored()).toBe(false);
    });

    test('when the transaction was closed by the handler itself', async ({ stage }) => {
      await stage.serveOrder(
        stage.orderThen(({ transactionScope }) => transactionScope.resolve<IConnection>('IConnection').rollback()),
      );
      const response = await stage.order();
      expect(response.status).toBe(500);
      expect(await stage.stored()).toBe(false);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(ROLLED_BACK);
    });
  });

  describe('a transaction whose response decides', () => {
    const replyOf = (status: number): Reply => ({ kind: 'json', status, body: { status } });

    const atLeast400 = (status: number): boolean => status >= 400;
    const never = (): boolean => false;
    const decisions: readonly (readonly [status: number, rules: Rules, isStored: boolean])[] = [
      ...[200, 201, 302, 404, 422, 499].map((status) => [status, {}, true] as const),
      ...[500, 503, 599].map((status) => [status, {}, false] as const),
      [404, { route: atLeast400 }, false],
      [500, { route: (status) => status === 409 }, true],
      [500, { route: never }, true],
      [404, { application: atLeast400 }, false],
      [500, { application: never }, true],
      [404, { application: atLeast400, route: never }, true],
      [404, { application: never, route: (status) => status === 404 }, false],
    ];
    test.for(decisions)(
      'is committed for a response below 500, and rolled back for others, unless rollbackOn of the route or of the application says otherwise: %i (%#)',
      async ([status, { application, route }, isStored], { stage }) => {
        const transaction = route ? { rollbackOn: route } : {};
        const scopeOptions = application ? { rollbackOn: application } : {};
        const handle = stage.orderThen(() => replyOf(status));
        await stage.serveOrder(handle, { responseDecides: true, transaction, scopeOptions });
        expect(await stage.order()).toMatchObject({ status, text: `{"status":${status}}` });
        expect(stage.pool.steps).toEqual(isStored ? COMMITTED : ROLLED_BACK);
        expect(await stage.stored()).toBe(isStored);
        expect(stage.errors).toEqual([]);
      },
    );

    test('is rolled back where rollbackOn throws, and responded to with that error', async ({ stage }) => {
      const rollbackOn = (): never => {
        throw new Error('undecided');
      };
      await stage.serveOrder(stage.createOrder, { responseDecides: true, transaction: { rollbackOn } });
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'undecided' }]);
      expect(await stage.stored()).toBe(false);
    });

    const known: readonly { name: string; act: (stage: Stage, call: Call) => Promise<unknown> }[] = [
      { name: 'knows of a failed statement', act: (stage, call) => stage.insertOrder(call).catch(() => undefined) },
      {
        name: 'has rolled back',
        act: (_stage, call) => call.transactionScope.resolve<IConnection>('IConnection').rollback(),
      },
    ];
    test.for(known)('may be responded to with an error status by a handler that $name', async ({ act }, { stage }) => {
      const handle = stage.orderThen(async (call) => {
        await act(stage, call);
        return replyOf(409);
      });
      await stage.serveOrder(handle, { responseDecides: true });
      expect(await stage.order()).toMatchObject({ status: 409, text: '{"status":409}' });
      expect(stage.errors).toEqual([]);
      expect(await stage.stored()).toBe(false);
    });
  });

  describe('a transaction', () => {
    test('has a scope tagged transaction, below the scope of its request', async ({ stage }) => {
      await stage.serveOrder(({ scope, transactionScope }) => {
        const same = scope.resolve('IRequestContext') === transactionScope.resolve('IRequestContext');
        return { kind: 'json', body: { same, open: stage.scopes.open } };
      });
      expect(JSON.parse((await stage.order()).text)).toEqual({ same: true, open: ['request', 'transaction'] });
    });

    test('has its IConnection in its own scope only', async ({ stage }) => {
      await stage.serveOrder(({ scope, transactionScope }) => {
        expect(() => scope.resolve('IConnection')).toThrow(/IConnection/);
        transactionScope.resolve('IConnection');
        return CREATED;
      });
      expect((await stage.order()).status).toBe(201);
    });

    test('begins with its options', async ({ stage }) => {
      await stage.serveOrder(stage.createOrder, { transaction: { isolation: 'serializable', readOnly: true } });
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ sqlState: '25006' }]);
    });

    test('sees nothing of another one in progress', async ({ stage }) => {
      const readOnly = { readOnly: true };
      await stage.serve([
        {
          method: 'GET',
          path: '/count',
          transaction: readOnly,
          handle: async ({ transactionScope }) => {
            const sql = 'SELECT id FROM orders WHERE id = $1';
            const rows = await transactionScope.resolve<IConnection>('IConnection').query(sql, [stage.orderId]);
            return { kind: 'json', body: rows.length };
          },
        },
        {
          method: 'POST',
          path: '/orders',
          transaction: {},
          handle: stage.orderThen(async () => {
            const { text } = await stage.get('/count');
            return { kind: 'json', status: 201, body: { seen: JSON.parse(text) as unknown } };
          }),
        },
      ]);
      expect(await stage.order()).toMatchObject({ status: 201, text: '{"seen":0}' });
      expect(await stage.get('/count')).toMatchObject({ status: 200, text: '1' });
    });
  });
}
