import { Container } from '@ambit/container';
import { describe, expect, test } from 'vitest';
import { isRetryable, runInTransaction, sqlStateOf, TransactionError } from '../src/index.js';
import { beginTransaction, isUnavailable, TRANSACTION_ERROR_CODES } from '../src/host.js';
import { FakePool } from '../src/testing/index.js';
import { aborted, refusedStatement } from '../src/errors.js';

const driverError = (code: string): Error => Object.assign(new Error('from the driver'), { code });

describe('a TransactionError', () => {
  test('says what happened and what to do, and names its code', () => {
    const error = new TransactionError('AMBIT_TX_FINISHED', 'The transaction is committed');
    expect(error.message).toMatch(
      /^The transaction is committed\. Await every query before .*\[npx ambit explain AMBIT_TX_FINISHED\]$/,
    );
    expect(error.name).toBe('TransactionError');
    expect('cause' in error).toBe(false);
  });

  test('has codes in the order of the alphabet', () => {
    expect(TRANSACTION_ERROR_CODES).toEqual(TRANSACTION_ERROR_CODES.toSorted());
  });

  test('keeps the original as its cause, and what the database said', () => {
    const cause = driverError('23505');
    const error = new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'Refused', { cause });
    expect(error).toMatchObject({ cause, sqlState: '23505', retryable: false, unavailable: false });
  });

  test('claims no rollback of a statement that commits itself, when its connection is lost', () => {
    const { message } = new TransactionError('AMBIT_TX_CONNECTION_LOST', 'The connection was lost');
    expect(message).toContain('a statement outside of a transaction, may have been carried out or not');
  });

  test('says nothing of what its cause said', () => {
    const cause = new Error('duplicate key in table "orders"');
    const error = aborted(AbortSignal.abort(cause));
    expect(error.cause).toBe(cause);
    expect(error.message).not.toContain('orders');
    expect(JSON.stringify(error)).not.toContain('orders');
  });

  test.each(['AMBIT_TX_BUSY', 'AMBIT_TX_ACQUIRE_TIMEOUT', 'AMBIT_TX_OUTCOME_UNKNOWN'] as const)(
    'asks a host for 503 as %s',
    (code) => expect(new TransactionError(code, 'Not now')).toMatchObject({ status: 503, statusCode: 503 }),
  );

  test('names a forgotten start() where a table is missing', () => {
    const hint = 'if onStart() creates the tables, await container.start() first';
    expect(refusedStatement(driverError('42P01'), '42P01').message).toContain(hint);
    expect(refusedStatement(driverError('42601'), '42601').message).not.toContain(hint);
  });

  test('is final when the outcome is unknown, although its cause could be tried again', () => {
    const error = new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'Lost', { cause: driverError('40001') });
    expect(error).toMatchObject({ retryable: false, unavailable: true });
    expect(isRetryable(new Error('wrapped', { cause: error }))).toBe(false);
  });
});

describe.each(['acquire', 'begin', 'commit'] as const)('an error at %s', (point) => {
  const app = new Container();
  app.register(
    'IDatabasePool',
    () => new FakePool({ faultAt: (at) => ({ ms: 0, kind: at === point ? 'refused' : 'none' }) }),
  );

  test('names the caller of beginTransaction() or commit() in its stack', async () => {
    async function placeOrder(): Promise<void> {
      const transaction = await beginTransaction(app);
      await transaction.commit();
    }
    await expect(placeOrder()).rejects.toMatchObject({ stack: expect.stringContaining('placeOrder') });
  });

  test('names the caller of runInTransaction() in its stack', async () => {
    async function placeOrder(): Promise<void> {
      await runInTransaction(app, async () => {});
    }
    await expect(placeOrder()).rejects.toMatchObject({ stack: expect.stringContaining('placeOrder') });
  });
});

describe('an error of any driver', () => {
  test.each<[code: string, retryable: boolean, temporary: boolean]>([
    ['40001', true, true],
    ['40P01', true, true],
    ['57014', false, true],
    ['53300', false, true],
    ['57P01', false, true],
    ['08006', false, true],
    ['08P01', false, false],
    ['22021', false, false],
    ['22P02', false, false],
    ['23505', false, false],
    ['40000', false, false],
    ['42601', false, false],
    ['EPIPE', false, false],
    ['', false, false],
  ])(
    '%j may be tried again: %s, and is temporary, for which a host responds with 503: %s',
    (code, retryable, unavailable) => {
      const cause = driverError(code);
      const wrapped = new Error('wrapped', { cause: new Error('twice', { cause }) });
      for (const error of [cause, wrapped])
        expect([isRetryable(error), isUnavailable(error)]).toEqual([retryable, unavailable]);
      const status = unavailable ? 503 : 500;
      const ours = new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'Refused', { cause });
      expect(ours).toMatchObject({ retryable, unavailable, status, statusCode: status });
    },
  );

  test.each([undefined, null, 'text', 5, new Error('plain'), driverError('EPIPE'), driverError('toolong')])(
    'of another kind has no SQLSTATE: %s',
    (error) => expect(sqlStateOf(error)).toBeUndefined(),
  );

  test('says no more than its SQLSTATE does, whatever it says of itself', () => {
    const throttled = Object.assign(new Error('slow down'), { retryable: true, unavailable: true });
    expect([isRetryable(throttled), isUnavailable(throttled)]).toEqual([false, false]);
    const deadlock = Object.assign(driverError('40P01'), { retryable: false, unavailable: false });
    expect([isRetryable(deadlock), isUnavailable(deadlock)]).toEqual([true, true]);
  });

  test('of another copy of this package has the last word, as those of this one have', () => {
    const theirs = Object.assign(new Error('busy', { cause: driverError('23505') }), {
      name: 'TransactionError',
      code: 'AMBIT_TX_BUSY',
      retryable: true,
      unavailable: true,
    });
    const wrapped = new Error('wrapped', { cause: theirs });
    expect([isRetryable(wrapped), isUnavailable(wrapped)]).toEqual([true, true]);
  });

  test('may be its own cause', () => {
    const error = new Error('round and round');
    error.cause = error;
    expect(isRetryable(error)).toBe(false);
  });
});
