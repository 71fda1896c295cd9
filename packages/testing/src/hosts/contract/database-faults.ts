import { describe, expect } from 'vitest';
import { connectionLost } from '../../tools.js';
import { type Stage, CREATED, ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

const serveOrder = (stage: Stage): Promise<void> => stage.serveOrder(stage.createOrder);

const refuse = (): never => {
  throw Object.assign(new Error('relation "secret" does not exist'), { code: '55000' });
};

/** A database that refuses, or dies, at one of the steps of an order. */
export function databaseFaultContract(test: StageTest): void {
  describe('an order whose database', () => {
    test('has no connection to spare in time is responded to with 503', async ({ stage }) => {
      const returnConnections = await stage.takeAllConnections();
      await stage.serveOrder(() => CREATED, { transaction: { acquireTimeoutMs: 10 } });
      const response = await stage.order();
      returnConnections();
      expect(response.status).toBe(503);
      expect(JSON.parse(response.text)).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
      expect(stage.pool.steps).toEqual(['acquire']);
      expect(stage.scopes.count('transaction')).toBe(0);
    });

    const refusals = [
      { whose: 'our pool', error: connectionLost() },
      { whose: 'a foreign pool', error: new Error('connect ECONNREFUSED secret-host:5432') },
    ];
    test.for(refusals)(
      'gives no connection, as $whose says it, is responded to with 503',
      async ({ error }, { stage }) => {
        await serveOrder(stage);
        stage.pool.beforeAcquire(() => {
          throw error;
        });
        const response = await stage.order();
        expect(response.status).toBe(503);
        expect(response.text).not.toContain('secret');
        expect(stage.errors).toMatchObject([{ unavailable: true }]);
        expect(stage.pool.steps).toEqual(['acquire']);
      },
    );

    test('never settles getConnection() is responded to with 503 within the time limit, and the scope is disposed', async ({
      stage,
    }) => {
      await stage.serveOrder(() => CREATED, { transaction: { acquireTimeoutMs: 20, cancelAfterMs: 20 } });
      stage.pool.beforeAcquire(() => new Promise(() => undefined));
      const response = await stage.order();
      expect(response.status).toBe(503);
      expect(JSON.parse(response.text)).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('never settles getConnection() keeps no scope open for a client that leaves', async ({ stage }) => {
      await stage.serveOrder(() => CREATED, { transaction: { cancelAfterMs: 20 } });
      stage.pool.beforeAcquire(() => new Promise(() => undefined));
      const client = await stage.sends(ORDER);
      await stage.pool.reaches('acquire');
      client.reset();
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('gives a connection after the time limit gets it back unused', async ({ stage }) => {
      await stage.serveOrder(() => CREATED, { transaction: { acquireTimeoutMs: 20, cancelAfterMs: 20 } });
      let respondAtLast = (): void => undefined;
      stage.pool.after('acquire', () => new Promise<void>((resolve) => (respondAtLast = resolve)));
      expect((await stage.order()).status).toBe(503);
      respondAtLast();
      await stage.pool.reaches('release');
      expect(stage.pool.steps).toEqual(['acquire', 'release']);
    });

    test('refuses BEGIN is rolled back, released, and responded to with the error', async ({ stage }) => {
      await serveOrder(stage);
      stage.pool.before('begin', refuse);
      const response = await stage.order();
      expect(response.status).toBe(500);
      expect(response.text).not.toContain('secret');
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_TX_BEGIN_FAILED' }]);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'rollback', 'release']);
      expect(stage.scopes.count('transaction')).toBe(1);
    });

    test('refuses COMMIT is never responded to with 201, and is not stored', async ({ stage }) => {
      await stage.serveOrder(async (call) => {
        await stage.insertRefusedOrder(call);
        return CREATED;
      });
      const response = await stage.order();
      expect(response.status).toBe(500);
      expect(JSON.parse(response.text)).toMatchObject({ detail: 'Internal error', code: 'AMBIT_TX_COMMIT_FAILED' });
      expect(response.headers['content-length']).toBe(String(response.text.length));
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_TX_COMMIT_FAILED', sqlState: '23503' }]);
      expect(await stage.stored()).toBe(false);
      await stage.quiet();
      expect(stage.pool.steps.at(-1)).toBe('release');
    });

    test('confirms COMMIT without having committed is never responded to with 201', async ({ stage }) => {
      await serveOrder(stage);
      // On PostgreSQL a failed transaction replies to COMMIT with ROLLBACK, and the driver resolves.
      stage.pool.before('commit', ({ inner }) => inner.query('SELECT nonsense').catch(() => inner.rollback()));
      const response = await stage.order();
      expect(response.status).toBeGreaterThanOrEqual(500);
      expect(response.text).not.toContain('created');
      expect(await stage.stored()).toBe(false);
    });

    test('is lost before COMMIT arrives is responded to with 503, and the order is not there', async ({ stage }) => {
      await serveOrder(stage);
      stage.pool.before('commit', (connection) => stage.database.kill(connection));
      const response = await stage.order();
      expect(response.status).toBe(503);
      expect(response.text).not.toContain('created');
      expect(await stage.stored()).toBe(false);
    });

    test('is lost when it has committed is responded to with 503 and the code that says: unknown, and the order is there', async ({
      stage,
    }) => {
      await serveOrder(stage);
      stage.pool.after('commit', () => {
        throw connectionLost();
      });
      const response = await stage.order();
      expect(response.status).toBe(503);
      expect(JSON.parse(response.text)).toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
      expect(await stage.stored()).toBe(true);
      await stage.quiet();
      expect(stage.pool.steps.at(-1)).toBe('destroy');
    });

    test('never replies to COMMIT is abandoned after a while', async ({ stage }) => {
      await stage.serveOrder(stage.createOrder, { transaction: { endTimeoutMs: 20 } });
      stage.pool.before('commit', () => new Promise(() => undefined));
      const response = await stage.order();
      expect(response.status).toBe(503);
      expect(JSON.parse(response.text)).toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
      await stage.quiet();
      expect(stage.pool.steps.at(-1)).toBe('destroy');
    });

    test('refuses ROLLBACK is responded to with what the handler failed for, and the connection is destroyed', async ({
      stage,
    }) => {
      await stage.serveOrder(stage.orderThen(() => Promise.reject(new Error('the reason'))));
      stage.pool.before('rollback', refuse);
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'the reason' }]);
      expect(stage.remarks).toMatchObject([{ code: 'AMBIT_TX_ROLLBACK_FAILED' }]);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'destroy']);
      expect(await stage.stored()).toBe(false);
    });
  });
}
