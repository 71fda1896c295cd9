import { signal } from '@ambit/test-kit';
import { setImmediate } from 'node:timers/promises';
import type { FakeFault, FaultPoint } from '@ambit/transaction/testing';
import { describe, expect, test, vi } from 'vitest';
import { application, failing, get, leftovers, serve, store } from './support/app.js';

const slow = (point: FaultPoint): FakeFault => ({ ms: point === 'commit' ? 20 : 0, kind: 'none' });

describe('commitTransaction() that nobody awaits', () => {
  test('holds the response back until the database has responded', async () => {
    const made = await application({ pool: { faultAt: slow } });
    made.app.post('/', async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      void request.commitTransaction();
      return { stored: 'soon' };
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toEqual({ stored: 'soon' });
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });

  test('holds back a response that the handler sends and does not return, which is sent once', async () => {
    const made = await application({ pool: { faultAt: slow } });
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      void request.commitTransaction();
      void reply.code(201).send({ id: '1' });
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toEqual([201, { id: '1' }]);
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });

  test('stands when the response after it cannot be sent', async () => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      void request.commitTransaction();
      return reply.header('x-name', '☕').send({ id: '1' });
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([500, { code: 'ERR_INVALID_CHAR' }]);
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });

  test.each([
    ['refused', 'AMBIT_TX_COMMIT_FAILED', 500, []],
    ['lost', 'AMBIT_TX_OUTCOME_UNKNOWN', 503, []],
    ['lost after', 'AMBIT_TX_OUTCOME_UNKNOWN', 503, ['INSERT order']],
  ] as const)('and that is %s gets a response that says what is known of it', async (kind, code, status, stored) => {
    const made = await application({ pool: { faultAt: failing('commit', kind) } });
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      void request.commitTransaction();
      reply.code(201).header('location', '/orders/1');
      return { id: '1' };
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.headers.location]).toEqual([status, undefined]);
    expect(response.json()).toMatchObject({ code });
    expect(made.pool.stored).toEqual(stored);
    expect(await leftovers(made)).toEqual([]);
  });

  test.each([
    ['success', 201, 500, 'AMBIT_TX_COMMIT_FAILED'],
    ['an error', 409, 500, 'AMBIT_TX_COMMIT_FAILED'],
  ])(
    'and that fails before the handler responds with %s turns the response into its error',
    async (_what, said, status, code) => {
      const made = await application({ pool: { faultAt: failing('commit', 'refused') } });
      made.app.post('/', async (request, reply) => {
        await request.startTransaction();
        await store(request, 'INSERT order');
        void request.commitTransaction();
        await vi.waitUntil(() => made.pool.out === 0, { interval: 1 });
        return reply.code(said).header('location', '/orders/1').send({ id: '1' });
      });

      const response = await made.app.inject({ method: 'POST', url: '/' });

      expect([response.statusCode, response.headers.location]).toEqual([status, undefined]);
      expect(response.json()).toMatchObject({ code });
      expect(await leftovers(made)).toEqual([]);
    },
  );

  test("and that fails is the handler's to deal with if the handler awaits it later", async () => {
    const made = await application({ pool: { faultAt: failing('commit', 'refused') } });
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      const committing = request.commitTransaction();
      await vi.waitUntil(() => made.pool.out === 0, { interval: 1 });
      const failed = await committing.then(
        () => false,
        () => true,
      );
      return reply.code(202).send({ failed });
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toEqual([202, { failed: true }]);
  });

  test('and that fails does not replace the error that the handler throws', async () => {
    const made = await application({ pool: { faultAt: failing('commit', 'refused') } });
    made.app.post('/', async (request) => {
      await request.startTransaction();
      void request.commitTransaction();
      await vi.waitUntil(() => made.pool.out === 0, { interval: 1 });
      throw Object.assign(new Error('no stock'), { statusCode: 409 });
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([409, { message: 'no stock' }]);
  });

  test('harms nobody when the client left before it was called', async () => {
    const made = await application();
    const arrived = signal();
    const left = signal();
    const called = signal();
    made.app.get('/', async (request) => {
      await request.startTransaction();
      arrived.resolve();
      await left.promise;
      void request.commitTransaction();
      called.resolve();
      return 'ok';
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();
    expect(await leftovers(made)).toEqual([]);
    left.resolve();
    await called.promise;
    await setImmediate();

    expect(made.pool.stored).toEqual([]);
  });
});
