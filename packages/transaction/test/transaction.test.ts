import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type IConnection,
  sqlStateOf,
  type Transaction,
  type TransactionError,
  transactionOf,
  type TransactionOptions,
} from '../src/index.js';
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
    test('acquires the connection, opens the scope, registers the connection, and begins', async () => {
      const transaction = await play(begin());
      expect(transaction.state).toBe('open');
      expect((transaction.scope as TinyContainer).tags).toEqual(['transaction']);
      expect(transaction.scope.resolve<IConnection>('IConnection')).toBe(transaction.connection);
      expect(pool.out).toBe(1);
      await play(transaction.rollback());
      expectNothingLeft();
    });

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

    test('says unavailable when no connection can be acquired', async () => {
      faults.acquire = { ms: 5, kind: 'lost' };
      await expect(play(begin())).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', unavailable: true });
      expectNothingLeft();
    });

    test('does not even ask for a connection when the client has already disconnected', async () => {
      const signal = AbortSignal.abort(new Error('the client disconnected'));
      await expect(play(begin({ signal }))).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      expectNothingLeft();
    });

    test.each(['acquire', 'begin'] as const)('undoes everything when the client goes during %s', async (point) => {
      faults[point] = { ms: 50, kind: 'none' };
      const client = new AbortController();
      clock.setTimer(() => client.abort(new Error('the client disconnected')), 20);
      await expect(play(begin({ signal: client.signal }))).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      expectNothingLeft();
    });

    test.each(['acquire', 'begin'] as const)(
      'undoes everything when the request is aborted during %s',
      async (point) => {
        faults[point] = { ms: 50, kind: 'none' };
        clock.setTimer(() => void request.dispose(), 20);
        await expect(play(begin())).rejects.toThrow(/ended|disposed/);
        expectNothingLeft();
      },
    );
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

    test('is one commit, however many ask for it', async () => {
      const transaction = await opened();
      await play(Promise.all([transaction.commit(), transaction.connection.commit(), transaction.commit()]));
      await play(transaction.commit());
      expect(pool.stored).toEqual(['INSERT order']);
      expectNothingLeft();
    });

    test('waits for statements that nobody awaited', async () => {
      const transaction = await opened();
      faults.query = { ms: 30, kind: 'none' };
      const forgotten = transaction.connection.query('INSERT item');
      await play(transaction.commit());
      await forgotten;
      expect(pool.stored).toEqual(['INSERT order', 'INSERT item']);
      expectNothingLeft();
    });

    test('does not commit when a statement failed, even if the handler did not mind', async () => {
      const transaction = await opened();
      faults.query = { ms: 1, kind: 'refused' };
      await play(transaction.connection.query('INSERT item').catch(() => undefined));
      await expect(play(transaction.connection.query('INSERT more'))).rejects.toMatchObject({
        code: 'AMBIT_TX_FAILED',
      });
      await expect(play(transaction.commit())).rejects.toMatchObject({
        code: 'AMBIT_TX_FAILED',
        sqlState: '55000',
      });
      expect(transaction.state).toBe('rolled back');
      expect(pool.stored).toEqual([]);
      expectNothingLeft();
    });

    test('continues after ROLLBACK TO has undone a failed statement', async () => {
      const transaction = await opened();
      await play(transaction.connection.query('SAVEPOINT half'));
      faults.query = { ms: 1, kind: 'refused' };
      await play(transaction.connection.query('INSERT item').catch(() => undefined));
      delete faults.query;
      await play(transaction.connection.query('ROLLBACK TO half'));
      await play(transaction.commit());
      expect(pool.stored).toEqual(['INSERT order']);
      expectNothingLeft();
    });

    test('says that nothing was stored when the database refused COMMIT', async () => {
      const transaction = await opened();
      faults.commit = { ms: 1, kind: 'conflict' };
      await expect(play(transaction.commit())).rejects.toMatchObject({
        code: 'AMBIT_TX_COMMIT_FAILED',
        sqlState: '40001',
        retryable: true,
        unavailable: true,
      });
      expect(transaction.state).toBe('rolled back');
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

    test('stands when the client goes after COMMIT was sent', async () => {
      const client = new AbortController();
      const transaction = await opened({ signal: client.signal });
      faults.commit = { ms: 50, kind: 'none' };
      clock.setTimer(() => client.abort(), 20);
      await play(transaction.commit());
      expect(transaction.state).toBe('committed');
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
    test('rolls back, disposes the scope, releases the connection, and can be called again', async () => {
      const transaction = await opened();
      await play(Promise.all([transaction.rollback(), transaction.connection.rollback()]));
      await play(transaction.rollback());
      expect(transaction.state).toBe('rolled back');
      expect(pool.stored).toEqual([]);
      expectNothingLeft();
    });

    test('undoes no commit', async () => {
      const transaction = await opened();
      await play(transaction.commit());
      await play(transaction.rollback(new Error('an error after the response')));
      expect(transaction.state).toBe('committed');
      expect(pool.stored).toEqual(['INSERT order']);
    });

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

    test('cancels the statement in progress, and destroys the cancelled connection', async () => {
      const transaction = await opened();
      faults.query = { ms: 60_000, kind: 'none' };
      const slow = transaction.connection.query('SELECT slow');
      slow.catch(() => undefined);
      await play(transaction.rollback());
      expect(sqlStateOf(await slow.catch((error: unknown) => error))).toBe('57014');
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
    test.each(['commit', 'rollback'] as const)('refuses every query after %s, and says why', async (end) => {
      const transaction = await opened();
      const connection = transaction.scope.resolve<IConnection>('IConnection');
      await play(transaction[end]());
      await expect(play(connection.query('SELECT late'))).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
      expect(pool.violations).toEqual([]);
    });

    test('commits the whole transaction when it is committed', async () => {
      const transaction = await opened();
      await play(transaction.connection.commit());
      expect(transaction.state).toBe('committed');
      expectNothingLeft();
    });

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
    test.each(['its scope', 'the request', 'the application'])('rolled back, when %s is disposed', async (which) => {
      const transaction = await opened();
      const scope = { 'its scope': transaction.scope, 'the request': request, 'the application': request.parent }[
        which
      ];
      await play(Promise.all([scope?.dispose(), scope?.dispose()]));
      expect(transaction.state).toBe('rolled back');
      expect(pool.stored).toEqual([]);
      expectNothingLeft();
    });

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

    test('after COMMIT was sent the scope waits for the response, and the commit stands', async () => {
      const transaction = await opened();
      faults.commit = { ms: 50, kind: 'none' };
      const commit = transaction.commit();
      clock.setTimer(() => void request.dispose(), 20);
      await play(commit);
      expect(transaction.state).toBe('committed');
      expectNothingLeft();
    });

    test('rolled back and revoked, when the client has disconnected', async () => {
      const client = new AbortController();
      const transaction = await opened({ signal: client.signal });
      client.abort(new Error('the client disconnected'));
      await expect(play(transaction.connection.query('SELECT late'))).rejects.toMatchObject({
        code: 'AMBIT_TX_ABORTED',
        cause: { message: 'the client disconnected' },
      });
      expect(transaction.signal.reason).toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      await expect(play(transaction.commit())).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      expectNothingLeft();
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

    test('rolled back, when it was open for too long', async () => {
      const transaction = await play(begin({ timeoutMs: 1000 }));
      await clock.run();
      expect(transaction.state).toBe('rolled back');
      await expect(play(transaction.commit())).rejects.toMatchObject({ code: 'AMBIT_TX_TIMEOUT', unavailable: true });
      expectNothingLeft();
    });
  });
});
