import { signal } from '@ambit/test-kit';
import { setTimeout } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { describe, expect, test } from 'vitest';
import { application, failing, leftovers, store } from './support/app.js';

const fail = (): never => {
  throw new Error('failed');
};

/** How a handler fails after it has written in its transaction, and on what database. */
const FAILURES = [
  ['throws', fail, {}],
  ['rolls back and throws', async (request) => (await request.rollbackTransaction(), fail()), {}],
  ['sends an error', (_request, reply) => void reply.send(new Error('failed')), {}],
  ['sees COMMIT refused', (request) => request.commitTransaction(), { faultAt: failing('commit', 'refused') }],
  ['leaves its transaction open', (_request, reply) => void reply.send({}), {}],
] as const satisfies [string, (...args: Parameters<Handler>) => unknown, object][];

type Handler = (request: Parameters<typeof store>[0], reply: FastifyReply) => unknown;

describe('a success that is sent while the error handler works', () => {
  describe.each(['error', 'response'] as const)('with disposeOn %j', (disposeOn) => {
    test.each(FAILURES)('is dropped after a handler that %s', async (_how, act, pool) => {
      const made = await application({ pool, plugin: { disposeOn } });
      const handling = signal();
      const dropped = signal();
      made.app.setErrorHandler(async (_error, _request, reply) => {
        handling.resolve();
        await dropped.promise;
        return reply.code(503).send({ error: 'Try again later' });
      });
      made.app.post('/', async (request, reply) => {
        await request.startTransaction();
        await store(request, 'INSERT order');
        void handling.promise.then(() => {
          void reply.code(201).header('location', '/orders/1').send({ id: '1' });
          dropped.resolve();
        });
        await act(request, reply);
        return reply;
      });

      const response = await made.app.inject({ method: 'POST', url: '/' });

      expect([response.statusCode, response.json()]).toEqual([503, { error: 'Try again later' }]);
      expect(response.headers.location).toBeUndefined();
      expect(made.pool.stored).toEqual([]);
      expect(await leftovers(made)).toEqual([]);
    });
  });

  test('does not pass its status on to an error handler that sets none', async () => {
    const made = await application();
    made.app.setErrorHandler((_error, _request, reply) => reply.send({ error: 'Internal error' }));
    made.app.post('/', async (request, reply) => {
      reply.code(201);
      await request.startTransaction();
      await store(request, 'INSERT order');
      throw Object.assign(new Error('conflict'), { statusCode: 409 });
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).statusCode).toBe(409);
  });

  test('an error handler decides on its own status, as of a redirection', async () => {
    const made = await application();
    made.app.setErrorHandler((_error, _request, reply) => reply.redirect('/login', 303));
    made.app.post('/', async (request) => {
      await request.startTransaction();
      throw new Error('failed');
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).statusCode).toBe(303);
  });
});

describe('startTransaction() that nobody awaits', () => {
  test('does not crash the process when it fails, and the response is no success', async () => {
    const made = await application({ pool: { faultAt: failing('acquire', 'refused') } });
    made.app.post('/', async (request) => {
      void request.startTransaction();
      await setTimeout(5);
      return {};
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).statusCode).toBeGreaterThanOrEqual(500);
    expect(await leftovers(made)).toEqual([]);
  });
});
