import type { IContainer } from '@ambit/container';
import { afterCommit, runInTransaction, transactionOf } from '@ambit/transaction';
import { describe, expect } from 'vitest';
import { Pause } from '../../tools.js';
import type { Call } from '../host.js';
import { CREATED, ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

const WITHOUT_ANOTHER = ['nested', 'required', 'supports', 'never', 'mandatory'] as const;

const messageOf = (call: () => unknown): string => {
  try {
    return String(call());
  } catch (error) {
    return (error as Error).message;
  }
};
const codeOf = (error: unknown): string => (error as { code: string }).code;

/** Callbacks before and after the COMMIT of a request, whichever way the host commits. */
export function aroundCommitContract(test: StageTest): void {
  describe('the connection of a transaction, resolved from the scope of the request', () => {
    test('is refused by the name of the scope that has it', async ({ stage }) => {
      const said: string[] = [];
      await stage.serveOrder(async (call) => {
        said.push(messageOf(() => call.scope.resolve('IConnection')));
        await stage.insertOrder(call);
        return CREATED;
      });
      expect((await stage.order()).status).toBe(201);
      expect(said).toEqual([expect.stringContaining('the scope of the transaction, requireTransactionScope()')]);
    });
  });

  describe('around the COMMIT of a request', () => {
    function register({ transactionScope }: Call, log: string[]): void {
      const transaction = transactionOf(transactionScope);
      transaction?.beforeCommit(() => void log.push('before'));
      transaction?.afterRollback(() => log.push('rollback'));
      transaction?.afterEnd((outcome) => log.push(outcome));
      afterCommit(transactionScope, () => log.push('after'));
      afterCommit(transactionScope, () => log.push('before the response'), { before: 'response' });
    }

    test('callbacks are called in order, with the connection back in the pool', async ({ stage }) => {
      const log: string[] = [];
      await stage.serveOrder(async (call) => {
        register(call, log);
        afterCommit(call.transactionScope, () => log.push(`${stage.pool.out.size} connections out`));
        await stage.insertOrder(call);
        return CREATED;
      });
      expect((await stage.order()).status).toBe(201);
      await stage.quiet();
      expect(log).toEqual(['before', 'before the response', 'after', '0 connections out', 'committed']);
    });

    test('a handler that fails gets those of a rollback', async ({ stage }) => {
      const log: string[] = [];
      await stage.serveOrder(async (call) => {
        register(call, log);
        throw new Error('secret');
      });
      expect((await stage.order()).status).toBe(500);
      await stage.quiet();
      expect(log).toEqual(['rollback', 'rolled back']);
    });

    test('a client that leaves gets those of a rollback, and the request scope waits for them', async ({ stage }) => {
      const log: string[] = [];
      await stage.serveOrder(async (call) => {
        register(call, log);
        transactionOf(call.transactionScope)?.afterRollback(async () => {
          await new Promise(setImmediate);
          log.push(`open: ${stage.scopes.open[0]}`);
        });
        await stage.insertOrder(call);
        await new Promise<void>(() => undefined);
      });
      const client = await stage.sends(ORDER);
      await stage.pool.reaches('query');
      client.reset();
      await stage.quiet();
      expect(log).toEqual(['rollback', 'open: request', 'rolled back']);
    });

    test('an error of beforeCommit is the response, and nothing is stored', async ({ stage }) => {
      const failure = new Error('the order is empty');
      await stage.serveOrder(
        stage.orderThen((call) => transactionOf(call.transactionScope)?.beforeCommit(() => Promise.reject(failure))),
      );
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toEqual([failure]);
      expect(await stage.stored()).toBe(false);
    });

    test('a run in the request scope is refused while the transaction is open, unless it says requires-new', async ({
      stage,
    }) => {
      const outcomes: unknown[] = [];
      await stage.serveOrder(async (call) => {
        await stage.insertOrder(call);
        const step = call.scope.createScope({ tags: ['step'] });
        for (const options of [{}, ...WITHOUT_ANOTHER.map((propagation) => ({ propagation }))]) {
          for (const scope of [call.scope, step]) {
            const run = runInTransaction(scope, async () => 'ran', options);
            outcomes.push(await run.catch(codeOf));
          }
        }
        outcomes.push(await runInTransaction(call.transactionScope, async () => 'nested'));
        outcomes.push(await runInTransaction(call.scope, async () => 'outside', { propagation: 'not-supported' }));
        // Where there is one connection only, nothing can begin beside the transaction.
        const beside = { propagation: 'requires-new', acquireTimeoutMs: 50, retries: 0 } as const;
        outcomes.push(await runInTransaction(call.scope, async () => 'beside', beside).catch(codeOf));
        await step.dispose();
        return CREATED;
      });
      expect((await stage.order()).status).toBe(201);
      expect(outcomes.slice(0, 12)).toEqual(Array.from({ length: 12 }, () => 'AMBIT_TX_ALREADY_OPEN'));
      expect(outcomes.slice(12, 14)).toEqual(['nested', 'outside']);
      expect(['beside', 'AMBIT_TX_ACQUIRE_TIMEOUT']).toContain(outcomes[14]);
    });

    test('a supports run belongs to the transaction of a request, and a not-supported run does not', async ({
      stage,
    }) => {
      const log: unknown[] = [];
      await stage.serveOrder(async (call) => {
        const { transactionScope } = call;
        await runInTransaction(transactionScope, () => stage.insertOrder(call), { propagation: 'supports' });
        const outside = async (scope: IContainer): Promise<void> => {
          log.push(transactionOf(scope) === undefined, scope === transactionScope);
          afterCommit(scope, () => log.push('at once'));
        };
        await runInTransaction(transactionScope, outside, { propagation: 'not-supported' });
        log.push('and the request goes on');
        throw new Error('secret');
      });
      expect((await stage.order()).status).toBe(500);
      expect(log).toEqual([true, false, 'at once', 'and the request goes on']);
      expect(await stage.stored()).toBe(false);
    });

    test('an error of afterCommit is reported, and the response is a success', async ({ stage }) => {
      const cause = new Error('no mail server');
      await stage.serveOrder(
        stage.orderThen(({ transactionScope }) => {
          afterCommit(transactionScope, () => Promise.reject(cause), { before: 'response' });
          afterCommit(transactionScope, () => Promise.reject(cause));
        }),
      );
      expect((await stage.order()).status).toBe(201);
      await stage.quiet();
      const failed = { code: 'AMBIT_TX_CALLBACK_FAILED', cause };
      expect(stage.remarks).toMatchObject([failed, failed]);
      expect(stage.errors).toEqual([]);
      expect(await stage.stored()).toBe(true);
    });

    test('the response does not wait for afterCommit; the request scope, and so a shutdown, do', async ({ stage }) => {
      const sending = new Pause();
      await stage.serveOrder(stage.orderThen((call) => afterCommit(call.transactionScope, () => sending.here())));
      expect((await stage.order()).status).toBe(201);
      let isClosed = false;
      const closing = stage.close().then(() => (isClosed = true));
      await new Promise(setImmediate);
      expect([isClosed, stage.scopes.open]).toEqual([false, ['request']]);
      sending.letGo();
      await closing;
    });

    test.for([false, true])(
      'those of the request scope are those of its transaction; it fails: %s',
      async (fails, { stage }) => {
        const log: string[] = [];
        await stage.serveOrder(async (call) => {
          afterCommit(call.scope, () => log.push('after'));
          transactionOf(call.scope)?.afterRollback(() => log.push('rollback'));
          await stage.insertOrder(call);
          if (fails) throw new Error('secret');
          log.push('done');
          return CREATED;
        });
        await stage.order();
        await stage.quiet();
        expect(log).toEqual(fails ? ['rollback'] : ['done', 'after']);
      },
    );

    test('the response waits for a callback with before: response, which may begin a transaction', async ({
      stage,
    }) => {
      const other = crypto.randomUUID();
      await stage.serveOrder(async (call) => {
        await stage.insertOrder(call);
        const write = (): Promise<void> =>
          runInTransaction(call.scope, (transactionScope) => stage.insertOrder({ transactionScope }, other));
        afterCommit(call.transactionScope, write, { before: 'response' });
        return CREATED;
      });
      expect((await stage.order()).status).toBe(201);
      expect([await stage.stored(), await stage.stored(other)]).toEqual([true, true]);
    });
  });
}
