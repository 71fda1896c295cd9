import type { IContainer } from '@ambit/container';
import { chosen } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { afterCommit, type IConnection, type IDatabasePool, runInTransaction, transactionOf } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import type { TinyContainer } from './support/container.js';
import { databases, sandboxes } from './support/databases.js';
import type { PoolsToTest } from '@ambit/testing/pools';
import { openTransactionScopes, requestScope } from './support/requests.js';

const refuse = (): never => {
  throw new TypeError('cannot be read');
};

describe.each(chosen([...databases, ...sandboxes]))(
  'a transaction scope over $name',
  ({ name: over, missing, open }) => {
    describe.skipIf(missing)('keeps its guarantees', () => {
      let database: PoolsToTest;
      let pool: IDatabasePool;
      let request: TinyContainer;

      beforeEach(async () => {
        database = await open();
        pool = await database.pool({ max: 1, acquireTimeoutMs: 60_000 });
        request = requestScope(pool);
        await pool.query('CREATE TABLE orders (id INTEGER PRIMARY KEY)');
      });
      afterEach(() => database.drop());

      const insert = async (connection: IConnection, id: number): Promise<void> => {
        await connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
      };
      /** Asks the one connection of the pool, so it also proves that this is home and in no transaction. */
      const stored = async (): Promise<number[]> => {
        const connection = await pool.getConnection();
        await connection.beginTransaction();
        const rows = await connection.query<{ id: number }>('SELECT id FROM orders ORDER BY id');
        await connection.commit();
        connection.release();
        expect(openTransactionScopes(request)).toBe(0);
        return rows.map(({ id }) => id);
      };

      test('committed', async () => {
        const transaction = await beginTransaction(request);
        await insert(transaction.scope.resolve<IConnection>('IConnection'), 1);
        await transaction.commit();
        expect(await stored()).toEqual([1]);
      });

      test.each(['nested', 'required'] as const)(
        'a %s run may name the level at which the transaction runs by default',
        async (propagation) => {
          const isolation = 'read committed' as const;
          // The pool of MariaDB cannot name that level: there the outermost run names it.
          const outermost = over === 'MariaDB' ? { isolation } : {};
          const work = async (scope: IContainer): Promise<void> => {
            const connection = scope.resolve<IConnection>('IConnection');
            await runInTransaction(scope, () => insert(connection, 1), { propagation, isolation });
          };
          await runInTransaction(request, work, outermost);
          expect(await stored()).toEqual([1]);
        },
      );

      test('calls the callbacks of what has committed: a savepoint may be one of SQL, under any spelling', async () => {
        const called: string[] = [];
        await runInTransaction(request, async (scope) => {
          const connection = scope.resolve<IConnection>('IConnection');
          const register = (name: string): void => afterCommit(scope, () => called.push(name));
          // MariaDB has fewer of them.
          const [rollback, release, separator] =
            over === 'MariaDB' ? ['rollback work', 'RELEASE SAVEPOINT', ''] : ['rollback transaction', 'RELEASE', ';'];
          const script = [
            () => register('before all'),
            'SAVEPOINT "One"',
            () => register('undone'),
            `/* the same one */ ${rollback} to savepoint "One"`,
            () => register('after it'),
            'SAVEPOINT "One"',
            () => register('undone, to the newer of this name'),
            'ROLLBACK TO SAVEPOINT "One"',
            () => register('undone: ROLLBACK TO has kept its savepoint'),
            'ROLLBACK TO SAVEPOINT "One"',
            `${release} "One"`,
            'savepoint two -- kept',
            () => register('kept'),
            `${separator}RELEASE SAVEPOINT two`,
          ];
          for (const step of script) await (typeof step === 'string' ? connection.query(step) : step());
          transactionOf(scope)?.beforeCommit(() => insert(connection, 1));
          const nested = runInTransaction(scope, async () => {
            register('undone with its run');
            await insert(connection, 2);
            throw new Error('undone');
          });
          await nested.catch(() => undefined);
        });
        expect(called).toEqual(['before all', 'after it', 'kept']);
        expect(await stored()).toEqual([1]);
      });

      test('stores nothing where beforeCommit fails, and lets an afterCommit write with a transaction of its own', async () => {
        const refused = runInTransaction(request, async (scope) => {
          const connection = scope.resolve<IConnection>('IConnection');
          await insert(connection, 1);
          transactionOf(scope)?.beforeCommit(() => insert(connection, 1));
        });
        await expect(refused).rejects.toMatchObject({ sqlState: '23505' });
        expect(await stored()).toEqual([]);
        await runInTransaction(request, async (scope) => {
          const writeLater = (): Promise<void> =>
            runInTransaction(request, (inner) => insert(inner.resolve<IConnection>('IConnection'), 3));
          afterCommit(scope, writeLater, { before: 'response' });
        });
        expect(await stored()).toEqual([3]);
      });

      const unreadable = {
        'whose code throws': () => Object.defineProperty(new Error('x'), 'code', { get: refuse }),
        'whose cause throws': () => Object.defineProperty(new Error('x'), 'cause', { get: refuse }),
        'that is a revoked proxy': () => {
          const { proxy, revoke } = Proxy.revocable({}, {});
          revoke();
          return proxy;
        },
        'that is a proxy which throws': () => new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse }),
      };
      const cases = Object.entries(unreadable);

      test.each(cases)('rolled back by an error %s', async (_what, make) => {
        const error: unknown = make();
        const ran = runInTransaction(request, async (scope) => {
          await insert(scope.resolve<IConnection>('IConnection'), 1);
          throw error;
        });
        expect(
          await ran.then(
            () => false,
            (found: unknown) => found === error,
          ),
        ).toBe(true);
        expect(await stored()).toEqual([]);
      });

      test.each(cases)('aborted with an error %s', async (_what, make) => {
        const client = new AbortController();
        const transaction = await beginTransaction(request, { signal: client.signal });
        await insert(transaction.connection, 1);
        client.abort(make());
        await expect(insert(transaction.connection, 2)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
        await expect(transaction.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
        expect(await stored()).toEqual([]);
      });

      test.each(['query', 'commit', 'rollback', 'nested run'])(
        'rolled back because the pool was closed before its %s, with no further failure to report',
        async (late) => {
          const reports: string[] = [];
          const wanted = new Error('wanted');
          const ran = runInTransaction(
            request,
            async (scope) => {
              const connection = scope.resolve<IConnection>('IConnection');
              await insert(connection, 1);
              await pool.close();
              if (late === 'query') await insert(connection, 2);
              if (late === 'rollback') throw wanted;
              if (late === 'nested run') await runInTransaction(scope, () => insert(connection, 2));
            },
            { onError: ({ code }) => reports.push(code) },
          );
          const closed = { code: 'AMBIT_TX_POOL_CLOSED', status: 503 };
          const failed = { code: 'AMBIT_TX_COMMIT_FAILED', status: 503, cause: closed };
          const error = late === 'rollback' ? wanted : late === 'commit' ? failed : closed;
          await expect(ran).rejects.toMatchObject(error);
          expect(reports).toEqual([]);
          expect(openTransactionScopes(request)).toBe(0);
        },
      );

      test('rolled back', async () => {
        const transaction = await beginTransaction(request);
        await insert(transaction.connection, 1);
        await transaction.rollback();
        expect(await stored()).toEqual([]);
      });

      test('rolled back when the request scope is disposed', async () => {
        const transaction = await beginTransaction(request);
        await insert(transaction.connection, 1);
        await request.dispose();
        expect(await stored()).toEqual([]);
      });

      test('rolled back when the client disconnects', async () => {
        const client = new AbortController();
        const transaction = await beginTransaction(request, { signal: client.signal });
        await insert(transaction.connection, 1);
        client.abort();
        await expect(insert(transaction.connection, 2)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
        await transaction.rollback();
        expect(await stored()).toEqual([]);
      });

      test('not committed after a failed statement', async () => {
        const transaction = await beginTransaction(request);
        await insert(transaction.connection, 1);
        await insert(transaction.connection, 1).catch(() => undefined);
        await expect(insert(transaction.connection, 2)).rejects.toMatchObject({
          code: 'AMBIT_TX_FAILED',
          sqlState: '23505',
        });
        await expect(transaction.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', sqlState: '23505' });
        expect(await stored()).toEqual([]);
      });

      test('saved by a nested run that fails, at any depth', async () => {
        await runInTransaction(request, async (scope) => {
          const connection = scope.resolve<IConnection>('IConnection');
          await insert(connection, 1);
          const undone = runInTransaction(scope, async () => {
            await insert(connection, 2);
            await runInTransaction(scope, () => insert(connection, 3));
            await insert(connection, 1);
          });
          await expect(undone).rejects.toMatchObject({ sqlState: '23505' });
          await runInTransaction(scope, () => insert(connection, 4));
        });
        expect(await stored()).toEqual([1, 4]);
      });

      test('of which a nested run undoes its own statements only, and those from beside it are refused', async () => {
        await runInTransaction(request, async (scope) => {
          const connection = scope.resolve<IConnection>('IConnection');
          const before = insert(connection, 1);
          const undone = runInTransaction(scope, async () => {
            await insert(connection, 2);
            throw new Error('undo the second');
          });
          const [own, beside] = await Promise.allSettled([undone, insert(connection, 3), before]);
          expect([own, beside]).toMatchObject([
            { reason: { message: 'undo the second' } },
            { reason: { code: 'AMBIT_TX_NESTED' } },
          ]);
          await insert(connection, 4);
        });
        expect(await stored()).toEqual([1, 4]);
      });

      test('in turn, when many want the one connection', async () => {
        const ids = Array.from({ length: 20 }, (_, index) => index + 1);
        await Promise.all(
          ids.map((id) => runInTransaction(request, (scope) => insert(scope.resolve<IConnection>('IConnection'), id))),
        );
        expect(await stored()).toEqual(ids);
      });

      test('a use of its connection after COMMIT touches nobody else', async () => {
        const first = await beginTransaction(request);
        await first.commit();
        const second = await beginTransaction(request);
        await expect(insert(first.connection, 1)).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
        await first.connection.rollback();
        await insert(second.connection, 2);
        await second.commit();
        expect(await stored()).toEqual([2]);
      });
    });
  },
);
