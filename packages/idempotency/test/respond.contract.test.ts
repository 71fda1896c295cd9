import { Readable } from 'node:stream';
import { connectionLost, Pause, WatchedPool, Happenings } from '@ambit/host-contract';
import type { IContainer } from '@ambit/container';
import { afterCommit, type IConnection, runInTransaction, TransactionError } from '@ambit/transaction';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createIdempotency, idempotencySchema, type NewResponse } from '../src/index.js';
import { databases, Orders } from './support/orders.js';

const ALREADY_OPEN = { code: 'AMBIT_TX_ALREADY_OPEN' };
const RUNNING = { code: 'AMBIT_IDEMPOTENCY_KEY', problem: 'running', status: 409 };

describe.each(databases)('with $name', ({ missing, dialect, open }) => {
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
      if (dialect === 'postgres') await expect(second).rejects.toMatchObject(RUNNING);
      pause.letGo();
      const { body } = await first;
      expect(await (dialect === 'postgres' ? respond() : second)).toMatchObject({ body, replayed: true });
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
        await orders.pool.query(
          'INSERT INTO idempotency_keys (key, fingerprint, status, body, created_at) VALUES ($1, $2, $3, $4, $5)',
          [key, fingerprint, 201, '{"id":"stored"}', Date.now()],
        );
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
        if (dialect !== 'postgres') return;
        const limits = async (connection: IConnection): Promise<unknown[]> =>
          connection.query(`SELECT current_setting('lock_timeout') AS value`);
        for (let times = 0; times < 2; times++) {
          const seen = await runInTransaction(orders.requestScope(), async (scope) => {
            const connection = scope.resolve<IConnection>('IConnection');
            await connection.query(`SET LOCAL lock_timeout = '7s'`);
            await respond(scope);
            return limits(connection);
          });
          expect(seen).toEqual([{ value: '7s' }]);
        }
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

    test.each([null, 0, '', 'text with \u0000 and \ud800', [], { a: [1, { b: null }] }])(
      'is given again as it was: %j',
      async (body) => {
        const request = () =>
          orders.idempotency.respond(orders.requestScope(), orders.request(), async () => ({ status: 200, body }));
        await request();
        expect(await request()).toMatchObject({ body, replayed: true });
      },
    );

    test('without a body is given again without one', async () => {
      const request = () =>
        orders.idempotency.respond(orders.requestScope(), orders.request(), async () => ({
          status: 204,
          headers: { 'x-a': 'b' },
          body: undefined,
        }));
      await request();
      expect(await request()).toEqual({
        status: 204,
        headers: { 'x-a': 'b', 'idempotency-replayed': 'true' },
        body: undefined,
        replayed: true,
      });
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
      const [{ schema } = { schema: '' }] =
        dialect === 'postgres'
          ? await orders.pool.query<{ schema: string }>(`SELECT current_schema() || '.' AS schema`)
          : [];
      const named = createIdempotency(orders.pool, { dialect, table: `${schema}shop_keys` });
      await named.createTable();
      for (const replayed of [false, true]) {
        const response = await named.respond(orders.requestScope(), orders.request('named'), orders.place);
        expect(response.replayed).toBe(replayed);
      }
      expect(await orders.pool.query('SELECT key FROM shop_keys')).toEqual([{ key: 'named' }]);
      expect(await orders.keys()).toEqual([]);
      await expect(named.createTable()).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED' });
      expect(idempotencySchema({ dialect, table: 'shop_keys' })).toContain(
        'CREATE INDEX shop_keys_by_age ON shop_keys',
      );
    });
  });
});
