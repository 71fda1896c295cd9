import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Readable } from 'node:stream';
import { chosen, connectionLost, Pause, WatchedPool, Happenings } from '@ambit/test-kit';
import type { IContainer } from '@ambit/container';
import { transactionCheck } from '@ambit/transaction/check';
import { publishResponse } from '@ambit/transaction/host';
import { afterCommit, type IConnection, runInTransaction, TransactionError } from '@ambit/transaction';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createIdempotency, idempotencySchema, type NewResponse } from '../src/index.js';
import { databases, Orders } from './support/orders.js';

const ALREADY_OPEN = { code: 'AMBIT_TX_ALREADY_OPEN' };
const RUNNING = { code: 'AMBIT_IDEMPOTENCY_KEY', problem: 'running', status: 409 };

describe.each(chosen(databases))('with $name', ({ missing, dialect, open }) => {
  describe.skipIf(missing)('a response', () => {
    let database: Awaited<ReturnType<typeof open>>;
    let orders: Orders;

    beforeAll(async () => {
      database = await open();
      orders = new Orders(database.pool, dialect);
      await orders.createTables();
    });
    beforeEach(() => orders.clear());
    afterAll(() => database.drop());

    const respond = (scope: IContainer = orders.requestScope(), key?: string) =>
      orders.idempotency.respond(scope, orders.request(key), orders.place);

    test('is stored with the work, or neither is', async () => {
      const failing = orders.idempotency.respond(orders.requestScope(), orders.request(), async (scope) => {
        await orders.place(scope);
        throw new Error('It went wrong');
      });
      await expect(failing).rejects.toThrow('It went wrong');
      expect([await orders.stored(), await orders.keys()]).toEqual([0, []]);
      expect((await respond()).replayed).toBe(false);
      expect([await orders.stored(), await orders.keys()]).toEqual([1, ['a-key']]);
    });

    test('needs no scope of a request: a job may have a key', async () => {
      const first = await respond(orders.app);
      expect(await respond(orders.app)).toEqual({
        ...first,
        replayed: true,
        headers: { 'idempotency-replayed': 'true' },
      });
    });

    test('of another process that is still running is not waited for', async () => {
      const pause = new Pause();
      const first = orders.otherProcess.respond(orders.requestScope(), orders.request(), async (scope) => {
        const placed = await orders.place(scope);
        await pause.here();
        return placed;
      });
      await pause.reached;
      const second = respond();
      if (dialect !== 'sqlite') await expect(second).rejects.toMatchObject(RUNNING);
      pause.letGo();
      const { body } = await first;
      expect(await (dialect === 'sqlite' ? second : respond())).toMatchObject({ body, replayed: true });
    });

    describe('that many processes want at once', () => {
      const PROCESSES = 8;
      const ROUNDS = 5;
      let crowd: Awaited<ReturnType<typeof open>>;
      let shop: Orders;

      beforeAll(async () => {
        crowd = await open({ writers: PROCESSES });
        shop = new Orders(crowd.pool, dialect);
        await shop.createTables();
      });
      beforeEach(() => shop.clear());
      afterAll(() => crowd.drop());

      const processes = Array.from({ length: PROCESSES }, (_, process) => process);
      /** What a request of another process gets: a new response, the first one again, or a refusal. */
      const ask = async (key: string, place = shop.place): Promise<'new' | 'again' | 'running' | Error> => {
        try {
          const elsewhere = createIdempotency(shop.pool, { dialect });
          const { replayed } = await elsewhere.respond(shop.requestScope(), shop.request(key), place);
          return replayed ? 'again' : 'new';
        } catch (error) {
          return (error as { problem?: string }).problem === 'running' ? 'running' : (error as Error);
        }
      };
      const askAll = (key: string, place?: typeof shop.place) => Promise.all(processes.map(() => ask(key, place)));

      test.each(['is new', 'has expired'])(
        'is that of one of them where the key %s, and the others get it, or are refused',
        async (which) => {
          for (let times = 0; times < ROUNDS; times++) {
            if (which === 'has expired')
              await shop.leave({ key: `key-${times}`, fingerprint: 'of another request', status: 200, created_at: 1 });
            const outcomes = await askAll(`key-${times}`);
            expect(outcomes.filter((outcome) => outcome === 'new')).toHaveLength(1);
            expect(outcomes.filter((outcome) => outcome !== 'again' && outcome !== 'running')).toHaveLength(1);
          }
          expect(await shop.stored()).toBe(ROUNDS);
        },
      );

      test('is that of a later one where the work of the first ones fails', async () => {
        for (let times = 0; times < ROUNDS; times++) {
          let failing = true;
          const failure = new Error('It went wrong');
          const outcomes = await askAll(`key-${times}`, async (scope) => {
            const placed = await shop.place(scope);
            await new Promise(setImmediate);
            if (failing) throw failure;
            return placed;
          });
          expect(outcomes.filter((outcome) => outcome !== failure && outcome !== 'running')).toEqual([]);
          failing = false;
          expect(await ask(`key-${times}`)).toBe('new');
        }
        expect(await shop.stored()).toBe(ROUNDS);
      });

      test('is never refused for another key: not where others are stored, repeated, undone or removed', async () => {
        const fail = async (scope: IContainer): Promise<never> => {
          await shop.place(scope);
          throw new Error('undone');
        };
        const keysOf = (process: number) => Array.from({ length: 15 }, (_, index) => `${index}-${process}`);
        await shop.leave(
          ...processes
            .flatMap(keysOf)
            .map((key) => ({ key: `old-${key}`, fingerprint: '', status: 200, created_at: 1 })),
        );
        const outcomes = await Promise.all(
          processes.map(async (process) => {
            const own: unknown[] = [];
            for (const key of keysOf(process)) {
              await ask(`undone-${key}`, fail);
              own.push(await ask(key), await ask(key));
              if (Number.parseInt(key, 10) % 5 === 2) await createIdempotency(shop.pool, { dialect }).removeExpired();
            }
            return own;
          }),
        );
        expect(new Set(outcomes.flat().filter((_, index) => index % 2 === 0))).toEqual(new Set(['new']));
        expect(new Set(outcomes.flat().filter((_, index) => index % 2 === 1))).toEqual(new Set(['again']));
      });
    });

    test('belongs to its key as it was sent, to the byte', async () => {
      const longest = `"${'\\"'.repeat(255)}"`;
      const keys = ['a-key', 'A-key', 'a-kez', longest, '"a-key "', '"a-key  "'];
      for (const key of keys) expect((await respond(undefined, key)).replayed).toBe(false);
      for (const key of keys) expect((await respond(undefined, key)).replayed).toBe(true);
      expect(await orders.stored()).toBe(keys.length);
    });

    test('of 4xx is stored without a word of the transaction check, which names what else was written', async () => {
      using check = transactionCheck({ report: () => undefined });
      const pool = check.pool(orders.pool);
      const checked = new Orders(pool, dialect);
      const request = checked.requestScope();
      await runInTransaction(request, async (scope) => {
        await checked.idempotency.respond(scope, checked.request(), async () => {
          await checked.place(scope);
          return { status: 409, body: {} };
        });
        publishResponse(request, 409);
      });
      expect(check.findings.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^409 committed 1 INSERT into orders, /),
      ]);
    });

    test.each([25, -25])('is kept for its time by processes whose clocks differ by %i hours', async (hours) => {
      await respond();
      const elsewhere = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + hours * 3_600_000);
      const other = (key?: string) =>
        orders.otherProcess.respond(orders.requestScope(), orders.request(key), orders.place);
      const there = [await other(), await other('b-key')];
      const removed = await orders.otherProcess.removeExpired();
      elsewhere.mockRestore();
      const here = await respond(undefined, 'b-key');
      expect([...there, here].map(({ replayed }) => replayed)).toEqual([true, false, true]);
      expect([removed, await orders.idempotency.removeExpired(), await orders.stored()]).toEqual([0, 0, 2]);
    });

    test('whose transaction is retried is stored once', async () => {
      let attempts = 0;
      const { replayed } = await orders.idempotency.respond(orders.requestScope(), orders.request(), async (scope) => {
        const placed = await orders.place(scope);
        if (++attempts === 1) throw Object.assign(new Error('conflict'), { code: '40001' });
        return placed;
      });
      expect([attempts, replayed, await orders.stored()]).toEqual([2, false, 1]);
    });

    test('may be asked for again by a request that does not know whether it committed', async () => {
      const pool = new WatchedPool(database.pool, new Happenings());
      const other = new Orders(pool, dialect);
      const request = other.requestScope();
      pool.after('commit', () => {
        throw connectionLost();
      });
      const lost = other.idempotency.respond(request, other.request(), other.place);
      await expect(lost).rejects.toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
      pool.after('commit', () => undefined);
      expect(await other.idempotency.respond(request, other.request(), other.place)).toMatchObject({ replayed: true });
      expect(await orders.stored()).toBe(1);
    });

    test('of a row that has no headers, as the service stored them, is given again', async () => {
      // sha256 of `POST /orders\nnull`, and of `Ada\na-key`.
      const fingerprint = 'JDgKCaru7FbG9CJNN-cpZM2Qs57nToDC3I23yxGLd8E';
      for (const key of ['a-key', 'of EGibIYKCFFOli35VnMv4Up1PeQE2ha9ks8YMWJTlKuk'])
        await orders.leave({ key, fingerprint, status: 201, body: '{"id":"stored"}', created_at: Date.now() });
      for (const caller of [undefined, 'Ada']) {
        const request = orders.request('a-key', { caller });
        const again = await orders.idempotency.respond(orders.requestScope(), request, orders.place);
        expect(again).toEqual({
          status: 201,
          headers: { 'idempotency-replayed': 'true' },
          body: { id: 'stored' },
          replayed: true,
        });
      }
    });

    describe('in a transaction that is open', () => {
      test('is committed with it, or neither is', async () => {
        const failing = runInTransaction(orders.requestScope(), async (scope) => {
          await respond(scope);
          throw new Error('after the response');
        });
        await expect(failing).rejects.toThrow('after the response');
        expect([await orders.stored(), await orders.keys()]).toEqual([0, []]);
        await runInTransaction(orders.requestScope(), (scope) => respond(scope));
        expect([await orders.stored(), await orders.keys()]).toEqual([1, ['a-key']]);
      });

      test('whose work failed lets it do nothing but roll back', async () => {
        const swallowing = runInTransaction(orders.requestScope(), async (scope) => {
          await orders.place(scope);
          const failing = orders.idempotency.respond(scope, orders.request(), async () => {
            throw new Error('It went wrong');
          });
          await failing.catch(() => undefined);
        });
        await expect(swallowing).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
        expect([await orders.stored(), await orders.keys()]).toEqual([0, []]);
      });

      test('keeps its key locked until that completes, and not longer', async () => {
        const pause = new Pause();
        const first = runInTransaction(orders.requestScope(), async (scope) => {
          const response = await respond(scope);
          await pause.here();
          return response;
        });
        await pause.reached;
        await expect(respond()).rejects.toMatchObject(RUNNING);
        pause.letGo();
        await first;
        expect(await respond()).toMatchObject({ replayed: true });
      });

      test('is undone with the nested run that it was stored in, and may be stored again', async () => {
        const outer = await runInTransaction(orders.requestScope(), async (scope) => {
          const nested = (fails: boolean) =>
            runInTransaction(scope, async (inner) => {
              const response = await respond(inner);
              if (fails) throw new Error('undone');
              return response;
            });
          await expect(nested(true)).rejects.toThrow('undone');
          await orders.place(scope);
          return 'committed';
        });
        expect(outer).toBe('committed');
        expect([await orders.stored(), await orders.keys()]).toEqual([1, []]);
        expect((await respond()).replayed).toBe(false);
      });

      test('may be stored again in the same transaction, by the request that has locked its key', async () => {
        const request = orders.requestScope();
        const locked = orders.idempotency.lock(request, orders.request());
        const { replayed } = await runInTransaction(request, async (scope) => {
          const undone = runInTransaction(scope, async (inner) => {
            await locked.respond(inner, orders.place);
            throw new Error('undone');
          });
          await expect(undone).rejects.toThrow('undone');
          return runInTransaction(scope, (inner) => locked.respond(inner, orders.place));
        });
        expect(replayed).toBe(false);
        expect([await orders.stored(), await orders.keys()]).toEqual([1, ['a-key']]);
        await request.dispose();
      });

      test('leaves its limit for locks as it was', async () => {
        if (dialect === 'sqlite') return;
        const limit =
          dialect === 'postgres'
            ? {
                set: `SET LOCAL lock_timeout = '7s'`,
                read: `SELECT current_setting('lock_timeout') AS value`,
                is: '7s',
              }
            : { set: 'SET innodb_lock_wait_timeout = 7', read: 'SELECT @@innodb_lock_wait_timeout AS value', is: 7 };
        for (let times = 0; times < 2; times++) {
          const seen = await runInTransaction(orders.requestScope(), async (scope) => {
            const connection = scope.resolve<IConnection>('IConnection');
            await connection.query(limit.set);
            await respond(scope);
            return connection.query(limit.read);
          });
          expect(seen).toEqual([{ value: limit.is }]);
        }
      });

      test('is found where it was stored after that had begun', async () => {
        // On SQLite there is no other transaction meanwhile.
        if (dialect === 'sqlite') return;
        const { response, again } = await runInTransaction(orders.requestScope(), async (scope) => {
          await scope.resolve<IConnection>('IConnection').query('SELECT id FROM orders');
          const { body } = await orders.otherProcess.respond(orders.requestScope(), orders.request(), orders.place);
          return { response: body, again: await respond(scope) };
        });
        expect(again).toMatchObject({ body: response, replayed: true });
        expect(await orders.stored()).toBe(1);
      });

      test('is found after a retry where the server refuses to read what is newer than the transaction', async () => {
        // From MariaDB 11.6 on it does by default.
        if (dialect !== 'mariadb') return;
        let attempts = 0;
        const again = await runInTransaction(orders.requestScope(), async (scope) => {
          attempts += 1;
          await scope.resolve<IConnection>('IConnection').query('SET innodb_snapshot_isolation = ON');
          if (attempts === 1) await orders.otherProcess.respond(orders.requestScope(), orders.request(), orders.place);
          return respond(scope);
        });
        expect([attempts, again.replayed, await orders.stored()]).toEqual([2, true, 1]);
      });

      describe.runIf(dialect === 'mariadb')('where another transaction has locked the place', () => {
        /** Where the row of the key is or would be. */
        const lockedWhile = async <T>(work: (unlock: () => Promise<void>) => Promise<T>): Promise<T> => {
          const other = await orders.pool.getConnection();
          await other.beginTransaction({ isolation: 'serializable' });
          await other.query("SELECT 1 FROM idempotency_keys WHERE `key` = 'a-key' FOR UPDATE");
          try {
            return await work(() => other.rollback());
          } finally {
            await other.rollback();
            other.release();
          }
        };
        const idOf = ({ body }: NewResponse<{ id: string }>): string => body.id;

        test('undoes no statement that was acknowledged', async () => {
          const acknowledged: Promise<string[]>[] = [];
          const { body } = await lockedWhile((unlock) =>
            runInTransaction(orders.requestScope(), async (scope) => {
              const place = (): Promise<string> => orders.place(scope).then(idOf);
              const follow = (message: unknown): void => {
                const { sql } = message as { sql: string };
                if (sql.startsWith('SAVEPOINT')) acknowledged.push(place().then(Array.of, () => []));
                if (!sql.startsWith('ROLLBACK TO')) return;
                acknowledged.push(place().then(Array.of));
                void unlock();
              };
              subscribe('ambit:transaction:statement', follow);
              return respond(scope).finally(() => unsubscribe('ambit:transaction:statement', follow));
            }),
          );
          expect(acknowledged.length).toBeGreaterThanOrEqual(3);
          const rows = await orders.pool.query<{ id: string }>('SELECT id FROM orders');
          const ids = [body.id, ...(await Promise.all(acknowledged)).flat()];
          expect(rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
        });

        test.each(['new', 'known', 'expired'])('refuses a key that is %s as one in use, and soon', async (which) => {
          const createdAt = which === 'known' ? Date.now() : 0;
          if (which !== 'new')
            await orders.leave({ key: 'a-key', fingerprint: '', status: 200, created_at: createdAt });
          const started = performance.now();
          await lockedWhile(() => expect(respond()).rejects.toMatchObject(RUNNING));
          // The server would let it wait for 50 s.
          expect(performance.now() - started).toBeLessThan(40_000);
        });
      });

      test('locks no place for others at a higher isolation level', async () => {
        if (dialect !== 'mariadb') return;
        await orders.leave({ key: 'b-key', fingerprint: '', status: 200, created_at: Date.now() });
        await runInTransaction(
          orders.requestScope(),
          async (scope) => {
            await respond(scope, 'a-key-2');
            const beside = (key: string) => orders.otherProcess.respond(orders.app, orders.request(key), orders.place);
            for (const key of ['a-key-1', 'a-key-3']) expect(await beside(key)).toMatchObject({ replayed: false });
          },
          { isolation: 'serializable' },
        );
      });

      test('calls callbacks of the work for the work only, and those around it for each request', async () => {
        const called: string[] = [];
        const request = () =>
          runInTransaction(orders.requestScope(), async (scope) => {
            afterCommit(scope, () => called.push('around'));
            await orders.idempotency.respond(scope, orders.request(), async (inner) => {
              afterCommit(inner, () => called.push('work'));
              return orders.place(inner);
            });
          });
        await request();
        await request();
        expect(called).toEqual(['around', 'work', 'around']);
      });

      test.each([
        ['the same keys', (): typeof orders.idempotency => orders.idempotency],
        ['another table of keys', () => createIdempotency(orders.pool, { dialect, table: 'other_keys' })],
      ])('is the only one: a second one is refused, of %s', async (_, other) => {
        const both = runInTransaction(orders.requestScope(), async (scope) => {
          await respond(scope);
          await other().respond(scope, orders.request('another-key'), orders.place);
        });
        await expect(both).rejects.toMatchObject(ALREADY_OPEN);
        expect([await orders.stored(), await orders.keys()]).toEqual([0, []]);
      });
    });

    describe('is refused, and nothing is stored,', () => {
      const bytes = (): unknown[] => [Buffer.from('x'), new Uint8Array(1).buffer, new Blob(['x']), new Response('x')];
      test.each<[string, () => NewResponse<unknown>, RegExp]>([
        ['as a stream of Node', () => ({ status: 200, body: Readable.from(['x']) }), /read only once/],
        ['as a stream of the web', () => ({ status: 200, body: new Blob(['x']).stream() }), /read only once/],
        ['as a generator', () => ({ status: 200, body: (async function* () {})() }), /read only once/],
        ['as a function', () => ({ status: 200, body: () => 1 }), /read only once/],
        ...bytes().map((body, n): [string, () => NewResponse<unknown>, RegExp] => [
          `as bytes (${n})`,
          () => ({ status: 200, body }),
          /read only once/,
        ]),
        ['with a bigint', () => ({ status: 200, body: 1n }), /cannot be written as JSON/],
        ['with more than 1 MiB', () => ({ status: 200, body: 'x'.repeat(1_048_576) }), /1048578 characters/],
        ['with the status of a failure', () => ({ status: 500, body: 1 }), /200 to 499/],
        ['with no status', () => ({ status: undefined as unknown as number, body: 1 }), /200 to 499/],
        [
          'with a header that is no text',
          () => ({ status: 200, headers: { a: 1 as never }, body: 1 }),
          /must be texts/,
        ],
      ])('%s', async (_, response, message) => {
        const refused = orders.idempotency.respond(orders.requestScope(), orders.request(), async (scope) => {
          await orders.place(scope);
          return response();
        });
        await expect(refused).rejects.toThrow(message);
        await expect(refused).rejects.toMatchObject({ code: 'AMBIT_TX_PARAMETER' });
        expect([await orders.stored(), await orders.keys()]).toEqual([0, []]);
      });

      test('where respond() is called in its own work', async () => {
        const scope = orders.requestScope();
        const inside = orders.idempotency.respond(scope, orders.request(), async (inner) => {
          const { status, body } = await respond(inner);
          return { status, body };
        });
        await expect(inside).rejects.toMatchObject(ALREADY_OPEN);
        const locked = orders.idempotency.lock(orders.requestScope(), orders.request());
        const again = () => locked.respond(orders.app, (inner) => locked.respond(inner, orders.place));
        await expect(again()).rejects.toMatchObject(ALREADY_OPEN);
        expect(await orders.stored()).toBe(0);
        // Nor is the response given that an expired key had.
        await orders.otherProcess.respond(orders.requestScope(), orders.request(), orders.place);
        await orders.pool.query('UPDATE idempotency_keys SET created_at = 0');
        await expect(again()).rejects.toMatchObject(ALREADY_OPEN);
        expect(await orders.stored()).toBe(1);
      });

      test('where a request uses its key a second time', async () => {
        const request = orders.requestScope();
        await respond(request);
        await expect(respond(request)).rejects.toMatchObject(ALREADY_OPEN);
        await expect(runInTransaction(request, (scope) => respond(scope))).rejects.toMatchObject(ALREADY_OPEN);
        await respond(request, 'another-item');
        expect(await orders.stored()).toBe(2);
      });
    });

    test.each<NewResponse<unknown>>([
      ...[null, 0, '', 'text with \u0000 and \ud800', [], { a: [1, { b: null }] }].map((body) => ({
        status: 200,
        body,
      })),
      { status: 204, headers: { 'x-a': 'b' }, body: undefined },
    ])('is given again as it was: %j', async (response) => {
      const request = () => orders.idempotency.respond(orders.requestScope(), orders.request(), async () => response);
      await request();
      const headers = { ...response.headers, 'idempotency-replayed': 'true' };
      expect(await request()).toEqual({ ...response, headers, replayed: true });
    });

    describe('whose key was locked before', () => {
      test('refuses others without a connection, until the scope is disposed', async () => {
        const request = orders.requestScope();
        orders.idempotency.lock(request, orders.request());
        expect(() => orders.idempotency.lock(orders.requestScope(), orders.request())).toThrow(/still running/);
        await request.dispose();
        expect((await respond()).replayed).toBe(false);
      });

      test('releases it with its transaction', async () => {
        const request = orders.requestScope();
        const locked = orders.idempotency.lock(request, orders.request());
        await runInTransaction(request, (scope) => locked.respond(scope, orders.place));
        expect((await respond()).replayed).toBe(true);
        await request.dispose();
      });

      test('is not locked for a scope that is disposed', async () => {
        const request = orders.requestScope();
        await request.dispose();
        expect(() => orders.idempotency.lock(request, orders.request())).toThrow(/disposed/);
        expect((await respond()).replayed).toBe(false);
      });

      test('releases it in a container without defer()', async () => {
        const inner = orders.requestScope();
        const foreign: IContainer = {
          resolve: inner.resolve.bind(inner),
          createScope: inner.createScope.bind(inner),
          register: inner.register.bind(inner),
          dispose: () => inner.dispose(),
        };
        orders.idempotency.lock(foreign, orders.request());
        await foreign.dispose();
        expect((await respond()).replayed).toBe(false);
      });

      test('releases it where no connection could be acquired', async () => {
        const request = orders.requestScope();
        const refusing = orders.idempotency.respond(request, orders.request(), orders.place, {
          signal: AbortSignal.abort(),
        });
        await expect(refusing).rejects.toBeInstanceOf(TransactionError);
        expect((await respond()).replayed).toBe(false);
      });
    });

    test('is stored in the table that is named', async () => {
      const current = { postgres: "current_schema() || '.'", mariadb: "concat(database(), '.')", sqlite: "''" }[
        dialect
      ];
      const [row] = await orders.pool.query<{ place: string }>(`SELECT ${current} AS place`);
      const options = { dialect, table: `${row?.place}shop_keys` };
      const named = createIdempotency(orders.pool, options);
      await named.createTable();
      for (const replayed of [false, true]) {
        const response = await named.respond(orders.requestScope(), orders.request('named'), orders.place);
        expect(response.replayed).toBe(replayed);
      }
      expect(await orders.keys('shop_keys')).toEqual(['named']);
      expect(await orders.keys()).toEqual([]);
      const expired = createIdempotency(orders.pool, { ...options, lifetimeMs: 1 });
      await expect.poll(() => expired.removeExpired()).toBe(1);
      await expect(named.createTable()).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED' });
      expect(idempotencySchema({ dialect, table: 'shop_keys' })).toMatch(
        dialect === 'mariadb' ? /KEY shop_keys_by_age \(/ : /CREATE INDEX shop_keys_by_age ON shop_keys/,
      );
    });
  });
});
