import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IContainer } from '@ambit/container';
import { beforeEach, describe, expect, test } from 'vitest';
import { type AfterBegin, afterCommit, type IConnection, type IDatabasePool, runInTransaction } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { FakePool } from '../src/testing/index.js';
import { createSqlitePool } from '../src/sqlite/index.js';
import { connectionWith, poolWith } from './support/foreign-pool.js';
import { requestScope } from './support/requests.js';
import type { TinyContainer } from './support/container.js';

const LAZY = { begin: 'lazy' } as const;
const connectionOf = (scope: { resolve<T>(key: string): T }): IConnection => scope.resolve<IConnection>('IConnection');

describe("begin: 'lazy'", () => {
  let pool: FakePool & { afterBegin?: AfterBegin | undefined };
  let request: TinyContainer;

  beforeEach(() => {
    pool = new FakePool();
    request = requestScope(pool);
  });
  const usePool = (getConnection: IDatabasePool['getConnection']): void => {
    const foreign = poolWith(pool, getConnection);
    request.register('IDatabasePool', () => foreign);
  };

  test('takes a connection for its first statement, and gives it back with COMMIT', async () => {
    await runInTransaction(
      request,
      async (scope) => {
        expect(pool.out).toBe(0);
        await Promise.all([connectionOf(scope).query('INSERT one'), connectionOf(scope).query('INSERT two')]);
        expect(pool.out).toBe(1);
      },
      LAZY,
    );
    expect(pool).toMatchObject({ out: 0, stored: ['INSERT one', 'INSERT two'], violations: [] });
  });

  test('commits without a statement: what waits for COMMIT is called', async () => {
    let isCalled = false;
    await runInTransaction(request, async (scope) => afterCommit(scope, () => void (isCalled = true)), LAZY);
    expect(isCalled).toBe(true);
  });

  test('has afterBegin of the pool called before its first statement', async () => {
    pool.afterBegin = async (connection, scope) => {
      await connection.query(`SET ${scope.resolve<string>('ITenant')}`);
      await expect(connection.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
    };
    request.register('ITenant', () => 'acme');
    await runInTransaction(request, (scope) => connectionOf(scope).query('INSERT order'), LAZY);
    expect(pool.stored).toEqual(['SET acme', 'INSERT order']);
  });

  test('begins with the savepoint of a nested run, and names its level before that', async () => {
    await using sqlite = createSqlitePool({ path: ':memory:' });
    const scope = requestScope(sqlite);
    const asked = runInTransaction(
      scope,
      (outer) =>
        runInTransaction(outer, (inner) => connectionOf(inner).query('SELECT 1 AS one'), { isolation: 'serializable' }),
      LAZY,
    );
    expect(await asked).toEqual([{ one: 1 }]);
  });

  test('fails once: what a ROLLBACK TO would undo has never begun', async () => {
    usePool(() => Promise.reject(new Error('no connection today')));
    const refused = { code: 'AMBIT_TX_ACQUIRE_FAILED' };
    const run = runInTransaction(
      request,
      async (scope) => {
        await expect(connectionOf(scope).query('SAVEPOINT a')).rejects.toMatchObject(refused);
        await expect(connectionOf(scope).query('ROLLBACK TO SAVEPOINT a')).rejects.toMatchObject(refused);
      },
      LAZY,
    );
    await expect(run).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', cause: refused });
  });

  test('does not wait for an afterBegin that waits for something else, once it is rolled back', async () => {
    pool.afterBegin = () => new Promise(() => undefined);
    const transaction = await beginTransaction(request, { ...LAZY, cancelAfterMs: 1, endTimeoutMs: 300_000 });
    const statement = transaction.connection.query('INSERT order').then(
      () => 'stored',
      () => 'refused',
    );
    await new Promise(setImmediate);
    await transaction.rollback();
    expect(await statement).toBe('refused');
    expect(pool).toMatchObject({ out: 0, stored: [], violations: [] });
  });

  test.each([
    ['AMBIT_TX_ABORTED', false],
    ['AMBIT_TX_ACQUIRE_FAILED', true],
  ])(
    'does not begin when it is rolled back while its first statement waits for a connection: %s, where the pool stops waiting: %s',
    async (code, stops) => {
      const began: unknown[] = [];
      let give = (): void => undefined;
      usePool(async (options) => {
        await new Promise<void>((resolve, reject) => {
          give = resolve;
          if (stops) options?.signal?.addEventListener('abort', () => reject(new Error('no longer wanted')));
        });
        const connection = await pool.getConnection();
        return connectionWith(connection, { beginTransaction: async (how) => void began.push(how) });
      });
      const transaction = await beginTransaction(request, { ...LAZY, cancelAfterMs: 60_000, endTimeoutMs: 300_000 });
      const statement = transaction.connection.query('INSERT order').catch((error: unknown) => error);
      await new Promise(setImmediate);
      const rolledBack = transaction.rollback();
      give();
      expect(await statement).toMatchObject({ code });
      await rolledBack;
      expect([began, pool.out]).toEqual([[], 0]);
    },
  );

  test('publishes that it begins and ends where it has sent something, and that it was refused where it could not', async () => {
    const seen: string[] = [];
    const names = ['acquired', 'refused', 'begun', 'finishing', 'finished'];
    const listeners = names.map((name) => [`ambit:transaction:${name}`, () => void seen.push(name)] as const);
    for (const [name, listener] of listeners) subscribe(name, listener);
    const play = async (work: (scope: IContainer) => Promise<unknown>): Promise<string[]> => {
      await runInTransaction(request, work, LAZY).catch(() => undefined);
      return seen.splice(0);
    };
    expect(await play(async () => undefined)).toEqual([]);
    const statement = (scope: IContainer): Promise<unknown> => connectionOf(scope).query('INSERT order');
    expect(await play(statement)).toEqual(['acquired', 'begun', 'finishing', 'finished']);
    usePool(() => Promise.reject(new Error('no connection today')));
    expect(await play(statement)).toEqual(['refused']);
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  });
});
