import { beforeEach, describe, expect, test } from 'vitest';
import type { Transaction, TransactionError } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { FakePool, SimulatedClock } from '../src/testing/index.js';
import { StrictContainer } from './support/strict-container.js';
import { played } from './support/requests.js';

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
