import type { IConnection } from '@ambit/transaction';
import { describe, expect } from 'vitest';
import { Pause } from '../../tools.js';
import { type Stage, CREATED, ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

const ways = ['leave', 'reset'] as const;

/** Serves an order that waits in its handler forever, and resolves when it does. */
async function startEndlessOrder(stage: Stage, onConnection: (connection: IConnection) => void = () => undefined) {
  await stage.serveOrder(async (call) => {
    onConnection(call.transactionScope.resolve<IConnection>('IConnection'));
    await stage.insertOrder(call);
    await new Promise<void>(() => undefined);
  });
  const client = await stage.sends(ORDER);
  await stage.pool.reaches('query');
  return client;
}

/** Clients that go away while a transaction is theirs. */
export function disconnectContract(test: StageTest): void {
  describe('when the client goes away', () => {
    test('in the middle of its body, no connection is acquired', async ({ stage }) => {
      await stage.serveOrder(() => CREATED);
      const client = await stage.client();
      client.write(
        'POST /orders HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a"',
      );
      await stage.scopes.opens('request');
      client.reset();
      await stage.quiet();
      expect(stage.pool.steps).toEqual([]);
    });

    test('while it waits for a connection, it gets none', async ({ stage }) => {
      await stage.serveOrder(() => CREATED);
      const returnConnections = await stage.takeAllConnections();
      const client = await stage.sends(ORDER);
      await stage.pool.reaches('acquire');
      client.reset();
      await stage.nobodyWaits();
      returnConnections();
      expect(stage.pool.steps).toEqual(['acquire']);
      expect(stage.scopes.count('transaction')).toBe(0);
    });

    test('while a connection is acquired, the connection is returned to the pool', async ({ stage }) => {
      await stage.serveOrder(() => CREATED);
      const client = await stage.client();
      stage.pool.after('acquire', async () => {
        client.reset();
        await stage.get('/ping');
      });
      client.send(ORDER);
      await stage.pool.reaches('release');
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'release']);
    });

    test('during BEGIN, the handler never runs', async ({ stage }) => {
      let ran = false;
      await stage.serveOrder(() => {
        ran = true;
        return CREATED;
      });
      const client = await stage.client();
      const begin = new Pause();
      stage.pool.after('begin', begin.here);
      client.send(ORDER);
      await begin.reached;
      client.reset();
      await stage.get('/ping');
      begin.letGo();
      await stage.quiet();
      expect(ran).toBe(false);
      expect(stage.pool.steps.filter((step) => step === 'commit')).toEqual([]);
    });

    test.for(ways)('during the handler (%s), the work is rolled back at once', async (go, { stage }) => {
      const client = await startEndlessOrder(stage);
      client[go]();
      await stage.quiet();
      expect(stage.pool.steps).toContain('rollback');
      expect(stage.pool.steps).not.toContain('commit');
      expect(await stage.stored()).toBe(false);
    });

    test('during the handler, its IConnection is refused from then on', async ({ stage }) => {
      let connection: IConnection | undefined;
      const client = await startEndlessOrder(stage, (theirs) => (connection = theirs));
      client.reset();
      await stage.quiet();
      await expect(connection?.query('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    });

    test('during the handler, a response afterwards commits nothing', async ({ stage }) => {
      const work = new Pause();
      await stage.serveOrder(stage.orderThen(work.here));
      const client = await stage.sends(ORDER);
      await work.reached;
      client.reset();
      await stage.pool.reaches('rollback');
      await stage.quiet();
      work.letGo();
      await stage.get('/ping');
      expect(stage.pool.steps).not.toContain('commit');
      expect(await stage.stored()).toBe(false);
    });

    test.for([
      { what: 'what a statement rejects with', fail: (error: unknown): unknown => error },
      {
        what: 'the same as a cause',
        fail: (cause: unknown): unknown => new Error('no order was placed', { cause }),
      },
    ])('it is no failure of the application, and reaches no error handler: $what', async ({ fail }, { stage }) => {
      const failed = new Pause();
      await stage.serveOrder(
        stage.orderThen(async (call) => {
          await stage.pool.reaches('rollback');
          try {
            await stage.insertOrder(call);
          } catch (error) {
            failed.letGo();
            throw fail(error);
          }
        }),
      );
      const client = await stage.sends(ORDER);
      await stage.pool.reaches('query');
      client.reset();
      await failed.here();
      await stage.quiet();
      await stage.get('/ping');
      expect(stage.errors).toEqual([]);
    });

    test('while it waits for a connection, no error handler is called', async ({ stage }) => {
      await stage.serveOrder(() => CREATED);
      const returnConnections = await stage.takeAllConnections();
      const client = await stage.sends(ORDER);
      await stage.pool.reaches('acquire');
      client.reset();
      await stage.quiet();
      returnConnections();
      await stage.get('/ping');
      expect(stage.errors).toEqual([]);
    });

    test('during COMMIT, the commit stands', async ({ stage }) => {
      await stage.serveOrder(stage.createOrder);
      const client = await stage.client();
      const commit = new Pause();
      stage.pool.before('commit', commit.here);
      client.send(ORDER);
      await commit.reached;
      client.reset();
      await stage.get('/ping');
      commit.letGo();
      await stage.quiet();
      expect(await stage.stored()).toBe(true);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
    });

    test('after the response, the order stays', async ({ stage }) => {
      await stage.serveOrder(stage.createOrder);
      const client = await stage.client();
      await client.request(ORDER);
      client.reset();
      await stage.quiet();
      expect(await stage.stored()).toBe(true);
    });

    test('the requests it has pipelined store nothing and leave nothing open', async ({ stage }) => {
      const client = await startEndlessOrder(stage);
      client.send(ORDER, { path: '/ping' });
      await stage.scopes.opens('request', 3);
      client.reset();
      await stage.quiet();
      await stage.get('/ping');
      expect(await stage.stored()).toBe(false);
      expect(stage.pool.steps).not.toContain('commit');
    });
  });
}
