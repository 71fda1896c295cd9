import { beforeEach, describe, expect, test } from 'vitest';
import { type AfterBegin, afterCommit, type IConnection, runInTransaction } from '../src/index.js';
import { FakePool } from '../src/testing/index.js';
import { createSqlitePool } from '../src/sqlite/index.js';
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
});
