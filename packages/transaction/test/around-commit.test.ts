import { AsyncLocalStorage } from 'node:async_hooks';
import type { IContainer } from '@ambit/container';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  afterCommit,
  runInTransaction,
  type Transaction,
  TransactionError,
  transactionOf,
  type TransactionOptions,
} from '../src/index.js';
import { beginTransaction, TransactionStart } from '../src/host.js';
import { type FakeFault, FakePool, type FaultPoint, SimulatedClock } from '../src/testing/index.js';
import type { TinyContainer } from './support/container.js';
import { nothingIsLeft, openTransactionScopes, played, requestScope } from './support/requests.js';

const fine: FakeFault = { ms: 0, kind: 'none' };

/** The code of our error, and the message of any other. */
const named = (reason: unknown): string =>
  reason instanceof TransactionError ? reason.code : (reason as Error).message;

describe.each([
  { container: 'a container with defer()', defers: true },
  { container: 'a foreign container', defers: false },
])('around COMMIT, in $container', ({ defers }) => {
  let clock: SimulatedClock;
  let faults: Partial<Record<FaultPoint, FakeFault>>;
  let pool: FakePool;
  let request: TinyContainer;
  let reported: TransactionError[];
  /** What has happened, in this order. */
  let log: string[];
  let client: AbortController;

  beforeEach(() => {
    clock = new SimulatedClock();
    faults = {};
    pool = new FakePool({ max: 2, clock, faultAt: (point) => faults[point] ?? fine });
    request = requestScope(pool, { defers });
    reported = [];
    log = [];
    client = new AbortController();
  });

  const play = <T>(promise: Promise<T>): Promise<T> => played(clock, promise);

  const options = (): TransactionOptions => ({ clock, onError: (error) => void reported.push(error) });
  const begin = (more: TransactionOptions = {}): Promise<Transaction> =>
    play(beginTransaction(request, { ...options(), timeoutMs: Infinity, ...more }));
  /** As a host begins the transaction of a request. */
  const beginForRequest = (): Promise<Transaction> =>
    play(new TransactionStart(request, { ...options(), timeoutMs: Infinity }, { guardsParent: true }).begun);
  const note = (what: string) => (): void => void log.push(what);
  const slowly =
    (what: string, ms = 20) =>
    async (): Promise<void> => {
      await clock.sleep(ms);
      log.push(what);
    };

  /** One callback of each kind. */
  function registerAll(transaction: Transaction): void {
    transaction.afterEnd((outcome) => log.push(`end: ${outcome}`));
    transaction.afterRollback((reason) => log.push(`rollback: ${named(reason)}`));
    transaction.afterCommit(note('commit'));
    transaction.afterCommit(note('before the response'), { before: 'response' });
    transaction.beforeCommit(note('before'));
  }

  const expectNothingLeft = (): void => nothingIsLeft(pool, request);

  describe('the callbacks that are called', () => {
    const commit = (transaction: Transaction): Promise<void> => transaction.commit();
    const failAndCommit = async (transaction: Transaction): Promise<void> => {
      faults.query = { ms: 1, kind: 'refused' };
      await transaction.connection.query('INSERT').catch(() => undefined);
      await transaction.commit();
    };
    const unknown = (kind: FakeFault['kind']) => [
      `an unknown outcome (${kind})`,
      kind,
      commit,
      ['before', 'end: unknown'],
    ];
    test.each([
      ['a COMMIT', 'none', commit, ['before', 'before the response', 'commit', 'end: committed']],
      [
        'a COMMIT that was refused',
        'refused',
        commit,
        ['before', 'rollback: AMBIT_TX_COMMIT_FAILED', 'end: rolled back'],
      ],
      unknown('lost'),
      unknown('lost after'),
      unknown('never'),
      ['a failed statement', 'none', failAndCommit, ['rollback: AMBIT_TX_FAILED', 'end: rolled back']],
    ] as [string, FakeFault['kind'], typeof commit, string[]][])('after %s', async (_what, kind, end, expected) => {
      faults.commit = { ms: 1, kind };
      const transaction = await begin();
      registerAll(transaction);
      await play(end(transaction).catch(() => undefined));
      expect(log).toEqual(expected);
      expectNothingLeft();
    });

    test.each([new Error('out of stock'), undefined])('after a rollback because of %s', async (reason) => {
      const transaction = await begin();
      let received: unknown;
      registerAll(transaction);
      transaction.afterRollback((why) => (received = why));
      await play(transaction.rollback(reason));
      expect(log).toEqual([`rollback: ${reason?.message ?? 'AMBIT_TX_FINISHED'}`, 'end: rolled back']);
      expect(received).toBe(reason ?? transaction.error);
      expect(transaction.error).toMatchObject({ code: 'AMBIT_TX_FINISHED', ...(reason && { cause: reason }) });
    });

    const ends: [string, (transaction: Transaction) => unknown, string][] = [
      ['commit() of its connection', ({ connection }) => connection.commit(), 'committed'],
      ['rollback() of its connection', ({ connection }) => connection.rollback(), 'rolled back'],
      ['the disposal of its scope', ({ scope }) => scope.dispose(), 'rolled back'],
      ['the disposal of the scope around it', () => request.dispose(), 'rolled back'],
      ['an abort of its signal', () => client.abort(), 'rolled back'],
    ];
    test.each(ends)('once, when it is completed by %s', async (_what, end, outcome) => {
      const transaction = await begin({ signal: client.signal });
      transaction.afterEnd((how) => log.push(how));
      await play(Promise.resolve(end(transaction)));
      await play(transaction.rollback());
      expect(log).toEqual([outcome]);
      expectNothingLeft();
    });
  });

  describe('beforeCommit', () => {
    test('may send statements, and register more of them', async () => {
      const transaction = await begin();
      const { connection } = transaction;
      transaction.beforeCommit(async () => {
        await connection.query('flush 1');
        transaction.beforeCommit(() => connection.query('flush 2').then(() => undefined));
        transaction.afterCommit(note('committed'));
      });
      await play(transaction.commit());
      expect(pool.stored).toEqual(['flush 1', 'flush 2']);
      expect(log).toEqual(['committed']);
      expectNothingLeft();
    });

    test('that fails rolls back, and commit() rejects with what it threw', async () => {
      const transaction = await begin();
      const failure = new Error('the order is empty');
      registerAll(transaction);
      transaction.beforeCommit(() => Promise.reject(failure));
      transaction.beforeCommit(note('too many'));
      await play(transaction.connection.query('INSERT'));
      await expect(play(transaction.commit())).rejects.toBe(failure);
      await expect(transaction.commit()).rejects.toBe(failure);
      expect(transaction).toMatchObject({ state: 'rolled back', error: { code: 'AMBIT_TX_FINISHED', cause: failure } });
      expect(log).toEqual(['before', 'rollback: the order is empty', 'end: rolled back']);
      expect(pool.stored).toEqual([]);
      expectNothingLeft();
    });

    test.each(['resolves', 'throws'])(
      'that %s after a rollback is the last, and its statements are refused',
      async (how) => {
        const transaction = await begin();
        const late = vi.fn<(error: unknown) => void>();
        transaction.beforeCommit(async () => {
          await clock.sleep(50);
          await transaction.connection.query('too late').catch(late);
          if (how === 'throws') throw new Error('of no importance');
        });
        transaction.beforeCommit(note('too many'));
        const committing = transaction.commit();
        clock.setTimer(() => void transaction.rollback(new Error('changed my mind')), 10);
        await expect(play(committing)).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
        expect(late).toHaveBeenCalledOnce();
        expect([log, pool.stored]).toEqual([[], []]);
        expectNothingLeft();
      },
    );

    test('that never settles is not waited for beyond the time limit', async () => {
      const run = runInTransaction(
        request,
        async (scope) => transactionOf(scope)?.beforeCommit(() => new Promise(() => undefined)),
        options(),
      );
      await expect(play(run)).rejects.toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
      expectNothingLeft();
    });

    test('is refused once COMMIT is about to be sent', async () => {
      const transaction = await begin();
      const committing = transaction.commit();
      expect(() => transaction.beforeCommit(note('never'))).toThrow(
        expect.objectContaining({ code: 'AMBIT_TX_FINISHED' }) as Error,
      );
      await play(committing);
    });
  });

  describe('afterCommit', () => {
    test('runs when the connection is back in the pool and the scope is disposed', async () => {
      const transaction = await begin();
      for (const before of ['response', undefined] as const) {
        transaction.afterCommit(() => log.push(`${pool.out} out, ${openTransactionScopes(request)} open`), {
          ...(before && { before }),
        });
      }
      await play(transaction.commit());
      expect(log).toEqual(['0 out, 0 open', '0 out, 0 open']);
    });

    test('that is not async has been called when commit() resolves', async () => {
      const transaction = await begin();
      transaction.afterCommit(note('counted'));
      transaction.afterCommit(note('logged'));
      await play(transaction.commit().then(note('response')));
      expect(log).toEqual(['counted', 'logged', 'response']);
    });

    test('that fails is reported, the others are called, and the commit stands', async () => {
      const transaction = await begin();
      const cause = new Error('no mail server');
      transaction.afterCommit(() => Promise.reject(cause), { before: 'response' });
      transaction.afterCommit(() => {
        throw cause;
      });
      registerAll(transaction);
      await play(transaction.commit());
      expect(transaction.state).toBe('committed');
      expect(log).toEqual(['before', 'before the response', 'commit', 'end: committed']);
      const failed = { code: 'AMBIT_TX_CALLBACK_FAILED', cause };
      expect(reported).toMatchObject([failed, failed]);
    });

    test('that never settles is reported after endTimeoutMs, and the response is sent', async () => {
      const transaction = await begin();
      transaction.afterCommit(() => new Promise(() => undefined), { before: 'response' });
      transaction.afterCommit(note('next'));
      await play(transaction.commit());
      expect(log).toEqual(['next']);
      expect(reported).toMatchObject([{ code: 'AMBIT_TX_CALLBACK_FAILED' }]);
    });

    test('is refused statements and nested runs, loudly, and says what to do', async () => {
      const transaction = await begin();
      const { scope, connection } = transaction;
      transaction.afterCommit(() => connection.query('INSERT too late'));
      transaction.afterCommit(() => runInTransaction(scope, async () => undefined));
      await play(transaction.commit());
      const refused = { code: 'AMBIT_TX_FINISHED', message: expect.stringContaining('beforeCommit()') as string };
      expect(reported).toMatchObject([{ cause: refused }, { cause: refused }]);
      expect(pool.stored).toEqual([]);
      expectNothingLeft();
    });

    test('runs in the async context of the code that registered it', async () => {
      const requestId = new AsyncLocalStorage<string>();
      const transaction = await begin();
      requestId.run('request 7', () => transaction.afterCommit(() => log.push(requestId.getStore() ?? 'none')));
      await play(transaction.commit());
      expect(log).toEqual(['request 7']);
    });

    test('holds up a disposal that has started before the COMMIT had its response', async () => {
      faults.commit = { ms: 30, kind: 'none' };
      const transaction = await begin();
      transaction.afterCommit(slowly('e-mail sent', 100));
      const committing = transaction.commit();
      clock.setTimer(() => void request.dispose().then(note('disposed')), 10);
      await play(committing);
      expect(log).toEqual(['e-mail sent', 'disposed']);
    });

    test('is called at once after the COMMIT, and refused after a rollback', async () => {
      const committed = await begin();
      await play(committed.commit());
      committed.afterCommit(note('late'));
      expect(log).toEqual(['late']);
      const undone = await begin();
      await play(undone.rollback());
      for (const { register } of [
        { register: () => undone.afterCommit(note('never')) },
        { register: () => undone.afterRollback(note('never')) },
        { register: () => committed.afterEnd(note('never')) },
        { register: () => committed.afterRollback(note('never')) },
        { register: () => committed.beforeCommit(note('never')) },
      ]) {
        expect(register).toThrow(expect.objectContaining({ code: 'AMBIT_TX_FINISHED' }) as Error);
      }
    });

    test.each([undefined, null, 'mail'])('refuses %j as a callback', async (callback) => {
      const transaction = await begin();
      const refused = expect.objectContaining({ code: 'AMBIT_OPTION' }) as Error;
      expect(() => transaction.afterCommit(callback as never)).toThrow(refused);
      expect(() => afterCommit(request, callback as never)).toThrow(refused);
      expect(() => transaction.afterCommit(note(''), { before: 'lunch' as never })).toThrow(refused);
      await play(transaction.commit());
    });
  });

  describe('a savepoint that is undone', () => {
    test('gives its afterRollback what the nested run threw', async () => {
      const failure = new Error('out of stock');
      let received: unknown;
      const work = async (scope: IContainer): Promise<void> => {
        const nested = runInTransaction(scope, async () => {
          transactionOf(scope)?.afterRollback((reason) => (received = reason));
          throw failure;
        });
        await nested.catch(() => undefined);
      };
      await play(runInTransaction(request, work, options()));
      expect(received).toBe(failure);
    });

    test('is not mistaken for the whole: a registration from outside of a nested run is refused', async () => {
      const refused = vi.fn<(error: unknown) => void>();
      const run = runInTransaction(
        request,
        async (scope) => {
          const nested = runInTransaction(scope, () => clock.sleep(10));
          try {
            transactionOf(scope)?.afterCommit(note('whose?'));
          } catch (error) {
            refused(error);
          }
          await nested;
        },
        options(),
      );
      await play(run);
      expect(refused).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'AMBIT_TX_NESTED' }));
    });
  });

  describe('an attempt that is retried', () => {
    test('drops its afterCommit, and its afterRollback has settled before the next attempt', async () => {
      const conflicts: FakeFault[] = [{ ms: 1, kind: 'conflict' }];
      faults.commit = conflicts[0] ?? fine;
      const run = runInTransaction(
        request,
        async (scope, { number }) => {
          log.push(`attempt ${number}`);
          const transaction = transactionOf(scope) as Transaction;
          transaction.afterCommit(note(`${number} committed`));
          transaction.afterRollback(slowly(`${number} compensated`, 500));
          transaction.afterEnd((outcome) => log.push(`${number} ${outcome}`));
          if (number === 2) faults.commit = fine;
        },
        { ...options(), retries: 1 },
      );
      await play(run);
      expect(log).toEqual(['attempt 1', '1 compensated', '1 rolled back', 'attempt 2', '2 committed', '2 committed']);
    });
  });

  describe('afterCommit(scope, fn)', () => {
    test('without a transaction runs at once, and its failure is a process warning', async () => {
      const warnings: unknown[] = [];
      const warned = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(warning));
      afterCommit(undefined, note('without a scope'));
      expect(log.splice(0)).toEqual(['without a scope']);
      afterCommit(request, note('at once'));
      expect(log).toEqual(['at once']);
      afterCommit(request, () => {
        throw new Error('no mail server');
      });
      afterCommit(request, slowly('finished', 50));
      await play(request.dispose().then(note('disposed')));
      expect(warnings).toMatchObject([{ code: 'AMBIT_TX_CALLBACK_FAILED' }]);
      expect(log).toEqual(['at once', 'finished', 'disposed']);
      warned.mockRestore();
    });

    test('within a transaction waits for its COMMIT, from any scope below', async () => {
      const transaction = await begin();
      afterCommit(transaction.scope.createScope({ tags: ['step'] }), note('committed'));
      afterCommit(transaction.scope, note('before the response'), { before: 'response' });
      expect(log).toEqual([]);
      await play(transaction.commit());
      expect(log).toEqual(['before the response', 'committed']);
    });

    test.each([
      ['the scope that a transaction began in', () => request],
      ['a scope below that', () => request.createScope({ tags: ['step'] })],
    ])('in %s waits for its COMMIT, and runs at once after that', async (_where, open) => {
      const transaction = await beginForRequest();
      const scope = open();
      afterCommit(scope, note('committed'));
      transactionOf(request)?.beforeCommit(note('before'));
      expect(log).toEqual([]);
      await play(transaction.commit());
      expect(transactionOf(request)).toBeUndefined();
      afterCommit(scope, note('at once'));
      expect(log).toEqual(['before', 'committed', 'at once']);
    });

    test("in a request's scope, or one below it, is refused once the request's transaction was rolled back", async () => {
      const transaction = await beginForRequest();
      const step = request.createScope({ tags: ['step'] });
      afterCommit(step, note('committed'));
      await play(transaction.rollback(new Error('the client has left')));
      const refused = expect.objectContaining({
        code: 'AMBIT_TX_FINISHED',
        cause: expect.objectContaining({ message: 'the client has left' }),
      });
      expect(() => afterCommit(request, note('late'))).toThrow(refused);
      expect(() => afterCommit(step, note('late'))).toThrow(refused);
      await play(runInTransaction(request, async () => afterCommit(request, note('stored by itself')), options()));
      await play(request.dispose());
      expect(() => afterCommit(request, note('late'))).toThrow(refused);
      expect(log).toEqual(['stored by itself']);
    });

    test('a run in the scope of a request begins one of its own while that of the request is rolled back', async () => {
      const transaction = await beginForRequest();
      const run = (): Promise<string> => runInTransaction(request, async () => 'its own');
      await expect(play(run())).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
      const rolledBack = transaction.rollback();
      expect(transaction.state).toBe('open');
      expect(await play(run())).toBe('its own');
      await play(rolledBack);
    });

    test('in that scope belongs to the attempt, and to the nested run, in which it is called', async () => {
      const run = runInTransaction(
        request,
        async (scope, { number }) => {
          afterCommit(request, note(`attempt ${number}`));
          if (number === 1) throw Object.assign(new Error('deadlock'), { sqlState: '40P01', code: '40P01' });
          const nested = runInTransaction(scope, async () => {
            afterCommit(request, note('nested'));
            throw new Error('out of stock');
          });
          await nested.catch(() => undefined);
        },
        options(),
      );
      await play(run);
      expect(log).toEqual(['attempt 2']);
    });

    test('in that scope is refused while two are open, and attaches to the one that is left', async () => {
      const first = await begin();
      const second = await begin();
      const refused = expect.objectContaining({ code: 'AMBIT_TX_ALREADY_OPEN' });
      expect(() => afterCommit(request, note('whose?'))).toThrow(refused);
      expect(() => transactionOf(request)).toThrow(refused);
      const noFunction = expect.objectContaining({ code: 'AMBIT_OPTION' });
      expect(() => afterCommit(request, 'no function' as never)).toThrow(noFunction);
      afterCommit(first.scope, note('first'));
      await play(first.commit());
      afterCommit(request, note('second'));
      await play(second.rollback());
      expect(log).toEqual(['first']);
    });

    test('in that scope finds the transaction that a callback of another one has begun', async () => {
      const transaction = await begin();
      const write = (): Promise<void> =>
        runInTransaction(request, async () => afterCommit(request, note('inner')), options());
      transaction.afterCommit(write, { before: 'response' });
      transaction.afterCommit(note('outer'));
      await play(transaction.commit());
      expect(log).toEqual(['inner', 'outer']);
    });

    test('in that scope finds the one of a failed BEGIN no more', async () => {
      faults = { begin: { kind: 'refused', ms: 1 } };
      await expect(begin()).rejects.toMatchObject({ code: 'AMBIT_TX_BEGIN_FAILED' });
      afterCommit(request, note('at once'));
      expect(log).toEqual(['at once']);
    });
  });
});
