import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { beginTransaction, TransactionStart } from '../src/host.js';
import {
  type AcquireOptions,
  type IDatabasePool,
  type IPooledConnection,
  runInTransaction,
  type Transaction,
  type TransactionError,
  type TransactionOptions,
} from '../src/index.js';
import { type FakeFault, FakePool, type FaultPoint, SimulatedClock } from '../src/testing/index.js';
import type { TinyContainer } from './support/container.js';
import { connectionWith, poolWith } from './support/foreign-pool.js';
import { openTransactionScopes, played, requestScope } from './support/requests.js';
import { StrictContainer } from './support/strict-container.js';

describe('a container whose scopes dispose their children by themselves, and may be disposed once', () => {
  let clock: SimulatedClock;
  let pool: FakePool;
  let request: StrictContainer;
  let reported: TransactionError[];

  beforeEach(() => {
    clock = new SimulatedClock();
    pool = new FakePool({ clock, faultAt: () => ({ ms: 5, kind: 'none' }) });
    const app = new StrictContainer();
    app.register('IDatabasePool', () => pool);
    request = app.createScope();
    reported = [];
  });

  const play = <T>(promise: Promise<T>): Promise<T> => played(clock, promise);
  const opened = async (): Promise<Transaction> => {
    const onError = (error: TransactionError): void => void reported.push(error);
    const transaction = await play(beginTransaction(request, { clock, timeoutMs: Infinity, onError }));
    await play(transaction.connection.query('INSERT order'));
    return transaction;
  };

  test('waits for the rollback when a scope around the transaction is disposed, and nothing is reported', async () => {
    const transactions = [await opened(), await opened()];
    const disposed = Promise.resolve(request.dispose());
    expect(request.disposed).toBe(false);
    await play(disposed);
    expect(transactions.map(({ state }) => state)).toEqual(['rolled back', 'rolled back']);
    expect(request.disposed).toBe(true);
    expect(reported).toEqual([]);
    expect([pool.out, pool.violations]).toEqual([0, []]);
  });

  test('receives the reason of its disposal, as does the transaction', async () => {
    const transaction = await opened();
    const why = new Error('the job failed');
    await play(Promise.resolve(request.dispose(why)));
    expect(transaction.error).toHaveProperty('cause.cause', why);
    expect(request.disposedBecause).toBe(why);
  });

  test('is not disposed twice when a client disconnects, which rolls back the transaction and finishes the request', async () => {
    const transaction = await opened();
    const rolledBack = transaction.rollback(new Error('the client disconnected'));
    await play(Promise.all([rolledBack, Promise.resolve(request.dispose())]));
    expect(reported).toEqual([]);
    expect((transaction.scope as StrictContainer).disposed).toBe(true);
    expect(pool.out).toBe(0);
  });

  test('lets a commit that was sent stand when the request is disposed meanwhile', async () => {
    const transaction = await opened();
    clock.setTimer(() => request.dispose(), 2);
    await play(transaction.commit());
    expect(transaction.state).toBe('committed');
    expect(reported).toEqual([]);
  });

  test('is disposed as ever when its transactions are over', async () => {
    const transaction = await opened();
    await play(transaction.commit());
    expect(request.dispose()).toBeUndefined();
    expect(() => request.dispose()).toThrow('already disposed');
    expect(reported).toEqual([]);
  });
});

const failure = new Error('the pool is broken');
const fails: readonly [how: string, fail: () => unknown][] = [
  [
    'throws',
    () => {
      throw failure;
    },
  ],
  ['rejects', () => Promise.reject(failure)],
];

describe('a pool that is not ours', () => {
  let clock: SimulatedClock;
  let faults: Partial<Record<FaultPoint, FakeFault>>;
  let pool: FakePool;
  let request: TinyContainer;
  let reported: TransactionError[];
  let unhandled: unknown[];
  let asked: AcquireOptions[];
  /** Gives everybody who waits a connection at last. */
  let admitAll: () => Promise<void>;
  const note = (error: unknown): void => void unhandled.push(error);

  beforeEach(() => {
    clock = new SimulatedClock();
    faults = {};
    pool = new FakePool({ clock, faultAt: (point) => faults[point] ?? { ms: 0, kind: 'none' } });
    request = requestScope(pool);
    reported = [];
    unhandled = [];
    asked = [];
    process.on('unhandledRejection', note).on('uncaughtException', note);
  });
  afterEach(() => {
    process.off('unhandledRejection', note).off('uncaughtException', note);
    expectNothingLeft();
  });
  function expectNothingLeft(): void {
    expect(unhandled).toEqual([]);
    expect(pool.out).toBe(0);
    expect(pool.violations).toEqual([]);
    expect(openTransactionScopes(request)).toBe(0);
  }

  const play = <T>(promise: Promise<T>): Promise<T> => played(clock, promise);
  const options = (more: TransactionOptions = {}): TransactionOptions => ({
    clock,
    timeoutMs: Infinity,
    cancelAfterMs: 100,
    onError: (error) => void reported.push(error),
    ...more,
  });
  const usePool = (getConnection: IDatabasePool['getConnection']): void => {
    const foreign = poolWith(pool, getConnection);
    request.register('IDatabasePool', () => foreign);
  };
  /** What the fake one does, and then what `after` does. */
  async function connection(name: 'cancel' | 'release', after: () => unknown): Promise<IPooledConnection> {
    const fake = await pool.getConnection();
    return connectionWith(fake, {
      release: (destroy) => {
        fake.release(destroy);
        if (name === 'release') return after() as void;
      },
      cancel: () => {
        if (name === 'cancel') return after() as void;
      },
    });
  }

  test.each([undefined, null, 7])('and whose getConnection() gives %s fails the transaction', async (given) => {
    usePool(async () => given as never);
    await expect(play(beginTransaction(request, options()))).rejects.toMatchObject({
      code: 'AMBIT_TX_ACQUIRE_FAILED',
      cause: { message: `getConnection() gave ${given}` },
    });
  });

  describe('and whose getConnection() does not settle', () => {
    beforeEach(() => {
      const waiting: (() => void)[] = [];
      usePool((acquire = {}) => {
        asked.push(acquire);
        return new Promise<IPooledConnection>((resolve) => {
          waiting.push(() => resolve(pool.getConnection()));
        });
      });
      admitAll = async () => {
        for (const admit of waiting.splice(0)) admit();
        await clock.run();
      };
    });
    afterEach(() => admitAll());

    test.each([
      ['beginTransaction', (more: TransactionOptions) => beginTransaction(request, options(more))],
      ['TransactionStart', (more: TransactionOptions) => new TransactionStart(request, options(more)).begun],
      ['runInTransaction', (more: TransactionOptions) => runInTransaction(request, async () => {}, options(more))],
    ])(
      'does not outlast the time limits of %s',
      async (name, begin: (more: TransactionOptions) => Promise<unknown>) => {
        await expect(play(begin({ acquireTimeoutMs: 400 }))).rejects.toMatchObject({
          code: 'AMBIT_TX_ACQUIRE_TIMEOUT',
          status: 503,
        });
        expect(clock.now()).toBe(500);
        await expect(play(begin({ timeoutMs: 2000 }))).rejects.toMatchObject({
          code: name === 'runInTransaction' ? 'AMBIT_TX_TIMEOUT' : 'AMBIT_TX_ACQUIRE_TIMEOUT',
        });
        expect(clock.now()).toBe(2600);
        expect(asked.map(({ signal }) => signal?.aborted)).toEqual([true, true]);
      },
    );

    test('does not outlast the client, or a rollback() of the start', async () => {
      const client = new AbortController();
      const aborted = beginTransaction(request, options({ signal: client.signal }));
      clock.setTimer(() => client.abort(), 50);
      await expect(play(aborted)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      expect(clock.now()).toBe(150);

      const start = new TransactionStart(request, options());
      await play(start.rollback(failure));
      await expect(start.begun).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED', cause: failure });
      expect(clock.now()).toBe(250);
    });

    test('and gives a connection too late gets it back at once, even if its release() fails', async () => {
      await expect(play(beginTransaction(request, options({ acquireTimeoutMs: 10 })))).rejects.toThrow();
      expect(pool.out).toBe(0);
      await admitAll();
      expect(pool.out).toBe(0);

      usePool(() => clock.sleep(1000).then(() => connection('release', () => Promise.reject(failure))));
      await expect(play(beginTransaction(request, options({ acquireTimeoutMs: 10 })))).rejects.toThrow();
      expect(reported).toMatchObject([{ code: 'AMBIT_TX_SCOPE_FAILED', cause: failure }]);
    });
  });

  test.each(fails)('and whose release() %s is reported, and the commit stands', async (_how, fail) => {
    usePool(() => connection('release', fail));
    const transaction = await play(beginTransaction(request, options()));
    await play(transaction.commit());
    expect(transaction.state).toBe('committed');
    expect(reported).toMatchObject([{ code: 'AMBIT_TX_SCOPE_FAILED', cause: failure }]);
  });

  test.each(fails)('and whose cancel() %s is reported, and the transaction is rolled back', async (_how, fail) => {
    faults.query = { ms: 1000, kind: 'none' };
    usePool(() => connection('cancel', fail));
    const transaction = await play(beginTransaction(request, options({ endTimeoutMs: 5000 })));
    const slow = transaction.connection.query('SELECT slow');
    await play(transaction.rollback());
    await slow;
    expect(transaction.state).toBe('rolled back');
    expect(reported).toMatchObject([{ code: 'AMBIT_TX_ROLLBACK_FAILED', cause: failure }]);
  });

  test.each(fails)('and whose getConnection() %s fails the start', async (_how, fail) => {
    usePool(() => fail() as never);
    await expect(play(beginTransaction(request, options()))).rejects.toMatchObject({
      code: 'AMBIT_TX_ACQUIRE_FAILED',
      cause: failure,
    });
  });

  test.each(fails)('and whose release() %s when there is no scope for the connection', async (_how, fail) => {
    usePool(() => connection('release', fail));
    const begun = beginTransaction(request, options());
    await request.dispose();
    await expect(play(begun)).rejects.toThrow('the scope is disposed');
    expect(reported).toMatchObject([{ code: 'AMBIT_TX_SCOPE_FAILED', cause: failure }]);
  });
});
