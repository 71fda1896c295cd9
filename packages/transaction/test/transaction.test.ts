import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type Transaction, type TransactionError, transactionOf, type TransactionOptions } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import {
  type FakeFault,
  FakePool,
  type FakePoolOptions,
  type FaultPoint,
  SimulatedClock,
} from '../src/testing/index.js';
import type { TinyContainer } from './support/container.js';
import { foreignPool } from './support/foreign-pool.js';
import { nothingIsLeft, played, requestScope } from './support/requests.js';

const fine: FakeFault = { ms: 0, kind: 'none' };

describe.each([
  { on: 'a container with defer() and a pool of ours', isForeign: false },
  { on: 'a foreign container and a foreign pool', isForeign: true },
])('a transaction on $on', ({ isForeign }) => {
  let clock: SimulatedClock;
  let faults: Partial<Record<FaultPoint, FakeFault>>;
  let pool: FakePool;
  let violations: readonly string[];
  let request: TinyContainer;
  let reported: TransactionError[];

  beforeEach(() => {
    clock = new SimulatedClock();
    faults = {};
    usePool({});
    reported = [];
  });
  function usePool(options: FakePoolOptions): void {
    pool = new FakePool({ max: 2, clock, faultAt: (point) => faults[point] ?? fine, ...options });
    const foreign = foreignPool(pool);
    violations = foreign.violations;
    request = requestScope(isForeign ? foreign.pool : pool, { defers: !isForeign });
  }

  const play = <T>(promise: Promise<T>): Promise<T> => played(clock, promise);

  const begin = (options: TransactionOptions = {}): Promise<Transaction> => {
    const settings = {
      clock,
      timeoutMs: Infinity,
      onError: (error: TransactionError) => void reported.push(error),
      ...options,
    };
    return beginTransaction(request, settings);
  };

  /** Open, with one statement done. */
  async function opened(options: TransactionOptions = {}): Promise<Transaction> {
    const transaction = await play(begin(options));
    await play(transaction.connection.query('INSERT order'));
    return transaction;
  }

  const expectNothingLeft = (): void => nothingIsLeft(pool, request, violations);

  describe('opening', () => {
    test('rolls back, disposes the scope, releases the connection and throws when BEGIN fails', async () => {
      faults.begin = { ms: 5, kind: 'refused' };
      await expect(play(begin())).rejects.toMatchObject({
        code: 'AMBIT_TX_BEGIN_FAILED',
        sqlState: '55000',
      });
      expectNothingLeft();
    });

    test('rolls back when BEGIN fails, though a commit was asked for meanwhile', async () => {
      let committing: Promise<void> | undefined;
      faults = {
        get begin(): FakeFault {
          committing = transactionOf(request)?.commit();
          committing?.catch(() => undefined);
          return { ms: 5, kind: 'refused' };
        },
      };
      await expect(play(begin())).rejects.toMatchObject({ code: 'AMBIT_TX_BEGIN_FAILED' });
      await expect(committing).rejects.toMatchObject({ code: 'AMBIT_TX_BEGIN_FAILED' });
      expectNothingLeft();
    });

    test('destroys the connection when it died at BEGIN', async () => {
      faults.begin = { ms: 5, kind: 'lost' };
      // A pool of ours says what happened, and sends no ROLLBACK that would fail.
      const code = isForeign ? 'AMBIT_TX_BEGIN_FAILED' : 'AMBIT_TX_CONNECTION_LOST';
      await expect(play(begin())).rejects.toMatchObject({ code });
      expect(reported).toMatchObject(isForeign ? [{ code: 'AMBIT_TX_ROLLBACK_FAILED' }] : []);
      expectNothingLeft();
    });

    test('does not even ask for a connection when the client has already disconnected', async () => {
      const signal = AbortSignal.abort(new Error('the client disconnected'));
      await expect(play(begin({ signal }))).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      expectNothingLeft();
    });
  });

  describe('commit()', () => {
    test('commits, disposes the scope, and releases the connection, in this order', async () => {
      const transaction = await opened();
      const seen: unknown[] = [];
      (transaction.scope as TinyContainer).owns(() => seen.push([transaction.state, pool.stored.length, pool.out]));
      await play(transaction.commit());
      expect(seen).toEqual([['committed', 1, 1]]);
      expect(pool.stored).toEqual(['INSERT order']);
      expectNothingLeft();
    });

    test.for(['committed', 'rolled back'] as const)(
      'at the end of a block with await using it is %s',
      async (outcome) => {
        let ended: Transaction | undefined;
        const block = async (): Promise<void> => {
          await using transaction = await begin();
          ended = transaction;
          if (outcome === 'committed') await transaction.commit();
        };
        await play(block());
        expect(ended?.state).toBe(outcome);
        expectNothingLeft();
      },
    );

    test('waits for statements that nobody awaited', async () => {
      const transaction = await opened();
      faults.query = { ms: 30, kind: 'none' };
      const forgotten = transaction.connection.query('INSERT item');
      await play(transaction.commit());
      await forgotten;
      expect(pool.stored).toEqual(['INSERT order', 'INSERT item']);
      expectNothingLeft();
    });

    test.each([
      { kind: 'lost', stored: [] },
      { kind: 'lost after', stored: ['INSERT order'] },
      { kind: 'never', stored: [] },
    ] as const)('says that the outcome is unknown when the reply to COMMIT is $kind', async ({ kind, stored }) => {
      const transaction = await opened();
      faults.commit = { ms: 1, kind };
      await expect(play(transaction.commit())).rejects.toMatchObject({
        code: 'AMBIT_TX_OUTCOME_UNKNOWN',
        retryable: false,
        unavailable: true,
      });
      expect(transaction.state).toBe('unknown');
      expect(pool.stored).toEqual(stored);
      expectNothingLeft();
    });

    test('is not undone by a scope that fails to dispose, which is reported', async () => {
      const transaction = await opened();
      (transaction.scope as TinyContainer).owns(() => Promise.reject(new Error('no good end')));
      await play(transaction.commit());
      expect(reported).toMatchObject([
        { code: 'AMBIT_TX_SCOPE_FAILED', cause: { errors: [{ message: 'no good end' }] } },
      ]);
      expectNothingLeft();
    });

    test('limits the wait for the disposal of the scope', async () => {
      const transaction = await opened();
      (transaction.scope as TinyContainer).owns(() => new Promise(() => undefined));
      await play(transaction.commit());
      expect(reported).toMatchObject([{ code: 'AMBIT_TX_SCOPE_FAILED' }]);
      expect(pool.out).toBe(0);
    });
  });

  describe('rollback()', () => {
    test.each(['refused', 'lost', 'never'] as const)(
      'never rejects: when ROLLBACK is %s the connection is destroyed',
      async (kind) => {
        const transaction = await opened();
        faults.rollback = { ms: 1, kind };
        await play(transaction.rollback());
        expect(transaction.state).toBe('rolled back');
        expect(reported).toMatchObject([{ code: 'AMBIT_TX_ROLLBACK_FAILED' }]);
        expectNothingLeft();
      },
    );

    test.each([
      [
        'throws',
        (): void => {
          throw new Error('the reporter is broken');
        },
      ],
      ['rejects', (): unknown => Promise.reject(new Error('the reporter is broken'))],
    ])('survives a reporter that %s', async (_how, onError) => {
      const transaction = await opened({ onError });
      faults.rollback = { ms: 1, kind: 'lost' };
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      await play(transaction.rollback());
      const detail = expect.stringContaining('the connection died');
      expect(warn.mock.calls).toMatchObject([[{ code: 'AMBIT_TX_ROLLBACK_FAILED', detail }]]);
      warn.mockRestore();
      expectNothingLeft();
    });

    test('says that the work was aborted to the statement in progress, and to those that wait or come later', async () => {
      const client = new AbortController();
      const transaction = await opened({ signal: client.signal });
      faults.query = { ms: 60_000, kind: 'none' };
      const slow = transaction.connection.query('SELECT slow');
      const waiting = transaction.connection.query('SELECT next');
      for (const statement of [slow, waiting]) statement.catch(() => undefined);
      client.abort(new Error('the client disconnected'));
      await play(transaction.rollback());
      await expect(slow).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED', sqlState: '57014' });
      const cause = { message: 'the client disconnected' };
      await expect(waiting).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED', cause });
      await expect(transaction.connection.query('SELECT late')).rejects.toMatchObject({
        code: 'AMBIT_TX_ABORTED',
        cause,
      });
      expectNothingLeft();
    });

    test('abandons a statement that continues after it was cancelled', async () => {
      const transaction = await opened();
      faults.query = { ms: 1, kind: 'never' };
      faults.cancel = { ms: 1, kind: 'never' };
      const hung = transaction.connection.query('SELECT hung');
      const waiting = transaction.connection.query('SELECT next');
      hung.catch(() => undefined);
      waiting.catch(() => undefined);
      await play(transaction.rollback());
      await expect(hung).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST' });
      await expect(waiting).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
      expectNothingLeft();
    });
  });

  describe('the connection in the scope', () => {
    test('begins no second transaction', async () => {
      const transaction = await opened();
      await expect(play(transaction.connection.beginTransaction())).rejects.toMatchObject({
        code: 'AMBIT_TX_ALREADY_OPEN',
      });
      await play(transaction.rollback());
    });

    test.each(['COMMIT', 'rollback', ' /* so */ -- there\n END'])('refuses %j as a query, and goes on', async (sql) => {
      const transaction = await opened();
      await expect(play(transaction.connection.query(sql))).rejects.toMatchObject({
        code: 'AMBIT_TX_CONTROL_STATEMENT',
      });
      await play(transaction.commit());
      expect(pool.stored).toEqual(['INSERT order']);
    });

    test('may be committed by an instance that is disposed with the scope, without waiting for itself', async () => {
      const transaction = await opened();
      (transaction.scope as TinyContainer).owns(() => transaction.connection.commit());
      await play(transaction.commit());
      expect(reported).toEqual([]);
      expectNothingLeft();
    });
  });

  describe('its signal', () => {
    test('aborts once it cannot commit any more, and not at a failed statement that may be undone', async () => {
      const transaction = await opened();
      faults.query = { ms: 1, kind: 'refused' };
      await play(transaction.connection.query('INSERT item').catch(() => undefined));
      expect(transaction.signal.aborted).toBe(false);
      await play(transaction.commit().catch(() => undefined));
      expect(transaction.signal.reason).toMatchObject({ code: 'AMBIT_TX_FAILED' });
    });

    test('aborts when the outcome is unknown', async () => {
      const transaction = await opened();
      faults.commit = { ms: 1, kind: 'lost' };
      const { signal } = transaction;
      await play(transaction.commit().catch(() => undefined));
      expect(signal.reason).toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
    });
  });

  describe('on a connection that is done when the call returns', () => {
    beforeEach(() => {
      usePool({ synchronous: true });
    });

    test('keeps time over nothing but BEGIN', async () => {
      const transaction = await play(begin());
      const setTimer = vi.spyOn(clock, 'setTimer');
      await transaction.connection.query('INSERT order');
      await transaction.connection.commit();
      expect(pool.stored).toEqual(['INSERT order']);
      await play(transaction.commit());
      // The disposal of the scope may still take its time.
      expect(setTimer).toHaveBeenCalledTimes(1);
      expectNothingLeft();
    });

    test('abandons a BEGIN that waits, and continues after it was cancelled', async () => {
      faults.begin = { ms: 1, kind: 'never' };
      faults.cancel = { ms: 1, kind: 'never' };
      await expect(play(begin({ timeoutMs: 1000 }))).rejects.toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
      expectNothingLeft();
    });
  });

  describe('rolls back by itself', () => {
    test.each(['its scope', 'the request'])('tells why %s was disposed', async (which) => {
      const transaction = await opened();
      const reasons: unknown[] = [];
      transaction.afterRollback((reason) => void reasons.push(reason));
      const why = new Error('the job failed');
      const scope = which === 'its scope' ? transaction.scope : request;
      await play(Promise.resolve(scope.dispose(why)));
      expect(reasons).toEqual([new Error('The scope of the transaction was disposed')]);
      expect(reasons[0]).toHaveProperty('cause', why);
      expect(transaction.error).toHaveProperty('cause.cause', why);
    });

    test('rolled back, when the client goes while commit() still waits for a statement', async () => {
      const client = new AbortController();
      const transaction = await opened({ signal: client.signal });
      faults.query = { ms: 50, kind: 'none' };
      const forgotten = transaction.connection.query('INSERT item');
      clock.setTimer(() => client.abort(), 20);
      await expect(play(transaction.commit())).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      await forgotten;
      expect(pool.stored).toEqual([]);
      expectNothingLeft();
    });

    test('rolled back with its scope, after the instances that the container disposes first', async () => {
      const transaction = await opened();
      let seen: unknown;
      (transaction.scope as TinyContainer).owns(() => (seen = transaction.state));
      await play(request.dispose());
      // The transaction of a foreign container is rolled back before the container does anything.
      expect(seen).toBe(!isForeign ? 'open' : 'rolled back');
      expect(transaction.state).toBe('rolled back');
      expectNothingLeft();
    });
  });
});
