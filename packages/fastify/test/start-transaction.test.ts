import { signal } from '@ambit/test-kit';
import { describe, expect, test } from 'vitest';
import { containerPlugin, transactionPlugin } from '../src/index.js';
import { application, failing, leftovers, serve, server, store } from './support/app.js';

describe('startTransaction()', () => {
  test.each([
    ['startTransaction()', {}],
    ['the transaction of its route', { config: { transaction: true } }],
  ])('is refused for a response that has begun, and its connection is closed: %s', async (_how, route) => {
    const made = await application();
    const errors: unknown[] = [];
    made.app.setErrorHandler((error) => void errors.push(error));
    const flush = (reply: { raw: { flushHeaders(): void } }): void => reply.raw.flushHeaders();
    made.app.post('/', { ...route, preHandler: async (_request, reply) => flush(reply) }, async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await request.commitTransaction();
      return 'stored';
    });
    const { fetch } = await serve(made.app);

    const response = await fetch('/', { method: 'POST' });

    await expect(response.text()).rejects.toThrow('terminated');
    expect(errors).toMatchObject([{ code: 'AMBIT_HTTP_HEAD_SENT' }]);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('after the request has finished is refused', async () => {
    const made = await application();
    const refused = signal<unknown>();
    made.app.post('/', async (request) => {
      setTimeout(() => void request.startTransaction().catch(refused.resolve), 20);
      return 'ok';
    });

    await made.app.inject({ method: 'POST', url: '/' });

    expect(await refused.promise).toMatchObject({ code: 'AMBIT_DISPOSED' });
    expect(await leftovers(made)).toEqual([]);
  });
});

test.each(['refused', 'lost'] as const)(
  'commitTransaction() that is %s rejects, and clears transactionScope',
  async (kind) => {
    const made = await application({ pool: { faultAt: failing('commit', kind) } });
    let scope: unknown = 'not cleared';
    made.app.post('/', async (request) => {
      await request.startTransaction();
      await request.commitTransaction().finally(() => (scope = request.transactionScope));
    });

    const { statusCode } = await made.app.inject({ method: 'POST', url: '/' });

    expect([statusCode, scope]).toEqual([kind === 'lost' ? 503 : 500, undefined]);
    expect(await leftovers(made)).toEqual([]);
  },
);

describe('the transaction plugin', () => {
  test('goes by the name `transaction`, and gives defaults to every transaction of its context', async () => {
    const { container, pool } = await application();
    const app = server();
    await app.register(containerPlugin, { container });
    await app.register(transactionPlugin, { timeoutMs: 5 });
    app.post('/', async (request) => {
      await request.startTransaction();
      await new Promise((resolve) => setTimeout(resolve, 30));
      await request.commitTransaction();
    });

    expect(app.hasPlugin('transaction')).toBe(true);
    expect((await app.inject({ method: 'POST', url: '/' })).json()).toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
    expect(await leftovers({ container, pool })).toEqual([]);
  });
});
