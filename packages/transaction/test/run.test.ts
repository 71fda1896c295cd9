import type { IContainer } from '@ambit/container';
import { beforeEach, describe, expect, test } from 'vitest';
import { type IConnection, runInTransaction, type RunOptions, TransactionError, type Work } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { type FakeFault, FakePool, type FaultPoint, SimulatedClock } from '../src/testing/index.js';
import type { TinyContainer } from './support/container.js';
import { openTransactionScopes, requestScope } from './support/requests.js';

const fine: FakeFault = { ms: 0, kind: 'none' };

describe('runInTransaction()', () => {
  let clock: SimulatedClock;
  let faultsOf: Partial<Record<FaultPoint, FakeFault[]>>;
  let pool: FakePool;
  let request: TinyContainer;
  /** When the last run had come to its end. */
  let endedAt: number;

  beforeEach(() => {
    clock = new SimulatedClock();
    faultsOf = {};
    pool = new FakePool({ max: 1, clock, faultAt: (point) => faultsOf[point]?.shift() ?? fine });
    request = requestScope(pool);
  });

  const conflict: FakeFault = { ms: 1, kind: 'conflict' };
  const connectionOf = (scope: { resolve<T>(key: string): T }): IConnection =>
    scope.resolve<IConnection>('IConnection');

  async function run<T>(work: Work<T>, options: RunOptions = {}): Promise<T> {
    const promise = runInTransaction(request, work, { clock, onError: () => undefined, ...options });
    const note = (): void => void (endedAt = clock.now());
    promise.then(note, note);
    await clock.run();
    expect(pool.out).toBe(0);
    expect(pool.violations).toEqual([]);
    expect(openTransactionScopes(request)).toBe(0);
    return promise;
  }

  const insert: Work<number> = async (scope, { number }) => {
    await connectionOf(scope).query(`INSERT ${number}`);
    return number;
  };

  test('takes work that is not async, where no types refuse it', async () => {
    const work = (() => 'done') as unknown as Work<string>;
    await expect(run(work)).resolves.toBe('done');
    await expect(run((scope) => runInTransaction(scope, work))).resolves.toBe('done');
  });

  test.each(['begin', 'query', 'commit'] as const)(
    'runs again, in a fresh scope, after a conflict at %s',
    async (point) => {
      faultsOf[point] = [conflict, conflict];
      const scopes = new Set<unknown>();
      const attempt = await run((scope, options) => {
        scopes.add(scope);
        return insert(scope, options);
      });
      expect(attempt).toBe(3);
      expect(scopes.size).toBe(point === 'begin' ? 1 : 3);
      expect(pool.stored).toEqual(['INSERT 3']);
    },
  );

  test.each([0, 2])('stops after %i retries, with the last error', async (retries) => {
    faultsOf.commit = Array.from({ length: retries + 1 }, () => conflict);
    await expect(run(insert, { retries })).rejects.toMatchObject({
      code: 'AMBIT_TX_COMMIT_FAILED',
      retryable: true,
    });
    expect(pool.stored).toEqual([]);
  });

  test.each([-1, 1.5, NaN, Infinity, '3', null])('refuses %j retries before it begins', async (retries) => {
    await expect(run(insert, { retries } as RunOptions)).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
    expect(pool.stored).toEqual([]);
  });

  test.each(['refused', 'lost', 'lost after'] as const)(
    'does not run again after another failure: %s',
    async (kind) => {
      let runs = 0;
      faultsOf.query = [{ ms: 1, kind }];
      const work = run((scope, options) => {
        runs += 1;
        return insert(scope, options);
      });
      await expect(work).rejects.toThrow(kind === 'refused' ? 'refused' : 'lost');
      expect(runs).toBe(1);
    },
  );

  test('never runs again when the outcome is unknown', async () => {
    faultsOf.commit = [{ ms: 1, kind: 'lost after' }];
    await expect(run(insert)).rejects.toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
    expect(pool.stored).toEqual(['INSERT 1']);
  });

  test('never runs again work that has committed by itself, whatever it fails with after that', async () => {
    const work = run(async (scope) => {
      await connectionOf(scope).query('INSERT');
      await connectionOf(scope).commit();
      throw Object.assign(new Error('a conflict elsewhere'), { code: '40001' });
    });
    await expect(work).rejects.toThrow('a conflict elsewhere');
    expect(pool.stored).toEqual(['INSERT']);
  });

  test('does not run again after an error of another library that calls itself retryable', async () => {
    let runs = 0;
    const throttled = Object.assign(new Error('slow down'), { code: 'ThrottlingException', retryable: true });
    const work = run(() => {
      runs += 1;
      return Promise.reject(throttled);
    });
    await expect(work).rejects.toBe(throttled);
    expect(runs).toBe(1);
  });

  test('pauses longer and longer between attempts', async () => {
    faultsOf.commit = [conflict, conflict, conflict];
    const starts: number[] = [];
    await run(
      (scope, options) => {
        starts.push(clock.now());
        return insert(scope, options);
      },
      { backoffMs: 100 },
    );
    const pauses = starts.slice(1).map((start, index) => start - (starts[index] ?? 0) - 1);
    pauses.forEach((pause, index) => expect(pause).toBeLessThanOrEqual(100 * 2 ** index));
    expect(Math.max(...pauses)).toBeGreaterThan(0);
  });

  test('starts no attempt after the deadline', async () => {
    faultsOf.commit = Array.from({ length: 50 }, () => conflict);
    const work = run(insert, { retries: 50, backoffMs: 1000, timeoutMs: 3000 });
    await expect(work).rejects.toMatchObject({
      code: 'AMBIT_TX_TIMEOUT',
      retryable: false,
      cause: expect.any(TransactionError),
    });
    expect(clock.now()).toBeLessThanOrEqual(3000);
  });

  /** Has the one connection for so long. */
  function holdConnection(ms: number): void {
    const holder = beginTransaction(request, { clock, timeoutMs: Infinity });
    clock.setTimer(() => void holder.then((transaction) => transaction.rollback()), ms);
  }
  const endless: Work<never> = () => new Promise(() => undefined);

  test('waits for a connection as long as the pool says', async () => {
    holdConnection(20_000);
    await expect(run(insert)).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
    expect(endedAt).toBe(5000);
  });

  test('waits for a connection as long as acquireTimeoutMs says, also where that is longer', async () => {
    holdConnection(20_000);
    await expect(run(insert, { acquireTimeoutMs: 25_000 })).resolves.toBe(1);
  });

  test('begins nothing on a connection that comes too late', async () => {
    faultsOf.acquire = [{ ms: 2000, kind: 'none' }];
    await expect(run(insert, { timeoutMs: 1000 })).rejects.toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
    expect(pool.stored).toEqual([]);
  });

  test('has one time limit for the wait for a connection and the work together', async () => {
    holdConnection(800);
    await expect(run(endless, { timeoutMs: 1000 })).rejects.toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
    expect(endedAt).toBe(1000);
  });

  test('has one time limit for all attempts and their waits', async () => {
    faultsOf.acquire = [500, 400].map((ms) => ({ ms, kind: 'none' }));
    faultsOf.commit = [conflict];
    const work = run<number>((scope, attempt) => (attempt.number === 1 ? insert : endless)(scope, attempt), {
      timeoutMs: 1000,
    });
    await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
    expect(endedAt).toBe(1000);
  });

  test('stops when the client has disconnected: in the work and between attempts', async () => {
    const inWork = new AbortController();
    clock.setTimer(() => inWork.abort(), 10);
    const stuck = run(() => new Promise(() => undefined), { signal: inWork.signal });
    await expect(stuck).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });

    const inPause = new AbortController();
    faultsOf.commit = [conflict];
    clock.setTimer(() => inPause.abort(), 5);
    const paused = run(insert, { signal: inPause.signal, backoffMs: 1_000_000 });
    await expect(paused).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
  });

  test('notifies the work when its attempt can no longer commit', async () => {
    const reported = new Promise<unknown>((resolve) => {
      const waiting: Work<never> = (_scope, { signal }) =>
        new Promise(() => signal.addEventListener('abort', () => resolve(signal.reason)));
      run(waiting, { timeoutMs: 100 }).catch(() => undefined);
    });
    await expect(reported).resolves.toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
  });

  describe('inside of a transaction scope', () => {
    test('refuses terms that the transaction around it does not have', async () => {
      const work = run((scope) => runInTransaction(scope, insert, { isolation: 'serializable' }), {
        isolation: 'read committed',
      });
      await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      const unknown = run((scope) => runInTransaction(scope, insert, { isolation: 'read committed' }));
      await expect(unknown).rejects.toMatchObject({
        code: 'AMBIT_TX_NESTED',
        message: expect.stringContaining(
          'it runs at a level that its pool cannot name, and read committed was asked for',
        ),
      });
      const same = run((scope) => runInTransaction(scope, insert, { readOnly: true }), { readOnly: true });
      await expect(same).resolves.toBe(1);
    });

    test.each<RunOptions>([
      { signal: new AbortController().signal },
      { begin: 'lazy' },
      { acquireTimeoutMs: 10 },
      { timeoutMs: 10 },
      { endTimeoutMs: 10 },
      { cancelAfterMs: 10 },
      { onError: () => undefined },
      { retries: 5 },
      { backoffMs: 10 },
    ])('refuses %o, which a savepoint could not keep', async (option) => {
      const work = run((scope) => runInTransaction(scope, insert, option));
      await expect(work).rejects.toMatchObject({
        code: 'AMBIT_TX_NESTED',
        message: expect.stringContaining(Object.keys(option).join()),
      });
      expect(pool.stored).toEqual([]);
    });

    test('may be given the signal that the transaction around it listens to', async () => {
      const { signal } = new AbortController();
      const same: object = { signal, retries: undefined };
      const work = run((scope) => runInTransaction(scope, insert, same), { signal });
      await expect(work).resolves.toBe(1);
    });

    test('refuses to overlap with another, and stores nothing then', async () => {
      const work = run(async (scope) => {
        const slow = runInTransaction(scope, async () => {
          await connectionOf(scope).query('INSERT slow');
          await clock.sleep(10);
          await connectionOf(scope).query('INSERT slower');
        });
        const quick = runInTransaction(scope, () => connectionOf(scope).query('INSERT quick'));
        await Promise.all([slow, quick]);
      });
      await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      expect(pool.stored).toEqual([]);
    });

    test.each<[string, (scope: IContainer) => Promise<unknown>]>([
      ['a query', (scope) => connectionOf(scope).query('INSERT late')],
      ['a nested run', (scope) => runInTransaction(scope, () => Promise.reject(new Error('undo')))],
    ])('refuses %s of a run before it, whose code still runs', async (_what, late) => {
      await run(async (scope) => {
        const connection = connectionOf(scope);
        let leftover: Promise<unknown> = Promise.resolve();
        await runInTransaction(scope, async () => {
          leftover = clock.sleep(10).then(() => late(scope));
          leftover.catch(() => undefined);
        });
        await runInTransaction(scope, async () => {
          await connection.query('INSERT 1');
          await clock.sleep(20);
        });
        await expect(leftover).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      });
      expect(pool.stored).toEqual(['INSERT 1']);
    });

    test.each(['resolves', 'rejects'])('stores nothing when it %s before a run within it has finished', async (how) => {
      const work = run(async (scope) => {
        const connection = connectionOf(scope);
        let inner: Promise<unknown> = Promise.resolve();
        const outer = runInTransaction(scope, async () => {
          await connection.query('INSERT outer');
          inner = runInTransaction(scope, async () => {
            await clock.sleep(10);
            throw new Error('undo the inner part');
          });
          inner.catch(() => undefined);
          if (how === 'rejects') throw new Error('undo the outer part');
        });
        await expect(outer).rejects.toThrow(how === 'rejects' ? 'undo the outer part' : 'AMBIT_TX_NESTED');
        await expect(inner).rejects.toThrow('undo the inner part');
      });
      await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', cause: { code: 'AMBIT_TX_NESTED' } });
      expect(pool.stored).toEqual([]);
    });

    test('may have a nested run of another database within it', async () => {
      const elsewhere = new FakePool({ max: 1, clock });
      await run((scope) =>
        runInTransaction(scope, () =>
          runInTransaction(requestScope(elsewhere), async (other) => {
            await runInTransaction(other, async () => {
              await connectionOf(other).query('INSERT there');
              await connectionOf(scope).query('INSERT here');
            });
          }),
        ),
      );
      expect(pool.stored).toEqual(['INSERT here']);
      expect(elsewhere.stored).toEqual(['INSERT there']);
    });

    test('rolls back a transaction that is committed while it is in progress', async () => {
      const work = run(async (scope) => {
        await runInTransaction(scope, async () => {
          await connectionOf(scope).query('INSERT half');
          await connectionOf(scope).commit();
        });
      });
      await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', cause: { code: 'AMBIT_TX_NESTED' } });
      expect(pool.stored).toEqual([]);
    });
  });
});
