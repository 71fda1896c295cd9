import { describe, expect, test } from 'vitest';
import { runInTransaction, type RunOptions, type TransactionOptions } from '../src/index.js';
import { TransactionSettings } from '../src/host.js';
import type { PostgresPoolOptions } from '../src/postgres/index.js';
import { readPostgresOptions } from '../src/postgres/options.js';
import type { SqlitePoolOptions } from '../src/sqlite/index.js';
import { readSqliteOptions } from '../src/sqlite/options.js';
import { type FakeFault, FakePool, type FaultPoint, SimulatedClock } from '../src/testing/index.js';
import { requestScope } from './support/requests.js';

// The types see to it that no option is forgotten here.
const ofTransactions: Record<keyof TransactionOptions, undefined> = {
  begin: undefined,
  pool: undefined,

  connection: undefined,
  isolation: undefined,
  readOnly: undefined,
  signal: undefined,
  acquireTimeoutMs: undefined,
  timeoutMs: undefined,
  endTimeoutMs: undefined,
  cancelAfterMs: undefined,
  onError: undefined,
  clock: undefined,
};
const ofRuns: Record<keyof RunOptions, undefined> = {
  ...ofTransactions,
  retries: undefined,
  backoffMs: undefined,
  propagation: undefined,
};
const ofPostgres: Record<keyof PostgresPoolOptions, undefined> = {
  connectionString: undefined,
  host: undefined,
  port: undefined,
  user: undefined,
  password: undefined,
  database: undefined,
  ssl: undefined,
  applicationName: undefined,
  max: undefined,
  maxWaiting: undefined,
  targetSessionAttrs: undefined,
  checkAfterMs: undefined,
  silentAfterMs: undefined,
  keepAliveDelayMs: undefined,
  acquireTimeoutMs: undefined,
  connectTimeoutMs: undefined,
  idleTimeoutMs: undefined,
  queryTimeoutMs: undefined,
  cancelGraceMs: undefined,
  statementTimeoutMs: undefined,
  closeTimeoutMs: undefined,
  prepare: undefined,
  afterBegin: undefined,
  onError: undefined,
  clock: undefined,
};
const ofSqlite: Record<keyof Omit<SqlitePoolOptions, 'path'>, undefined> = {
  acquireTimeoutMs: undefined,
  maxReaders: undefined,
  afterBegin: undefined,
  maxWaiting: undefined,
  closeTimeoutMs: undefined,
  clock: undefined,
};

describe('an invalid option is refused with its name', () => {
  test.each<[string, unknown]>([
    ['readOnly', 'yes'],
    ['begin', 'later'],
    ['onError', 5],
    ['signal', {}],
    ['signal', 'gone'],
    ['clock', {}],
    ['clock', { now: () => 0 }],
    ['timeoutMs', -1],
  ])('of a transaction: %s %j', async (name, value) => {
    const message = expect.stringContaining(name);
    const ran = runInTransaction(requestScope(new FakePool()), async () => 'done', { [name]: value });
    await expect(ran).rejects.toMatchObject({ code: 'AMBIT_OPTION', message });
  });

  test.each<[string, unknown]>([
    ['onError', 'log'],
    ['clock', {}],
    ['prepare', 'no'],
    ['queryTimeoutMs', 0],
  ])('of a PostgreSQL pool: %s %j', (name, value) => {
    const message = expect.stringContaining(name);
    expect(() => readPostgresOptions({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message }),
    );
  });

  test('of a SQLite pool: clock', () => {
    const wrong = { path: ':memory:', clock: {} } as unknown as SqlitePoolOptions;
    expect(() => readSqliteOptions(wrong)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
  });

  test('accepts whatever has the methods of a clock and of a signal', () => {
    const clock = new SimulatedClock();
    const { signal } = new AbortController();
    const options = { clock, signal, readOnly: false };
    const settings = TransactionSettings.of(options) as unknown as typeof options;
    expect(settings.clock).toBe(clock);
    expect(settings.signal).toBe(signal);
  });
});

const undefinedIs = (name: string): object => ({ [name]: undefined });

describe('an option given as undefined means its default', () => {
  test.each(Object.keys(ofTransactions))('of a transaction: %s', (name) => {
    expect(TransactionSettings.of(undefinedIs(name))).toStrictEqual(
      Object.assign(TransactionSettings.of({}), { onError: expect.any(Function) }),
    );
  });

  test.each(Object.keys(ofPostgres))('of a PostgreSQL pool: %s', (name) => {
    expect(readPostgresOptions(undefinedIs(name))).toStrictEqual(readPostgresOptions({}));
  });

  test.each(Object.keys(ofSqlite))('of a SQLite pool: %s', (name) => {
    const path = ':memory:';
    expect(readSqliteOptions({ path, ...undefinedIs(name) })).toStrictEqual(readSqliteOptions({ path }));
  });

  test.each(Object.keys(ofRuns))('of a run: %s', async (name) => {
    let conflicts = 1;
    const faultAt = (point: FaultPoint): FakeFault => {
      return { ms: 0, kind: point === 'begin' && conflicts-- > 0 ? 'conflict' : 'none' };
    };
    const ran = runInTransaction(requestScope(new FakePool({ faultAt })), async () => 'done', undefinedIs(name));
    await expect(ran).resolves.toBe('done');
  });
});

describe('the error of an option', () => {
  test.each([
    [{ onError: { password: 'secret' } as never }, 'onError must be a function, not an object'],
    [{ onError: ['secret'] as never }, 'onError must be a function, not a list'],
    [{ onError: null as never }, 'onError must be a function, not null'],
    [{ timeoutMs: (() => 'secret') as never }, 'timeoutMs must be a number of milliseconds, not a function'],
    [{ timeoutMs: -1 }, 'timeoutMs must be a number of milliseconds, not -1'],
    [{ signal: { password: 'secret' } as never }, 'signal must be an AbortSignal, not an object'],
    [{ pool: { password: 'secret' } as never }, 'pool must be a key, not an object'],
  ] satisfies [TransactionOptions, string][])('%j says %j, and nothing of what is in it', (options, message) => {
    expect(() => TransactionSettings.of(options)).toThrow(message);
  });
});
