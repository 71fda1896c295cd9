import { signal } from '@ambit/test-kit';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { requireTransactionScope } from '../src/index.js';
import { application, leftovers } from './support/app.js';

const never = new Promise<void>(() => undefined);

describe('a handler that does not respond until its transaction has timed out', () => {
  test.each(['returns', 'sends', 'throws'])('changes nothing when it %s after all', async (how) => {
    const made = await application();
    const late = signal();
    const finished = signal();
    made.app.post('/', async (request, reply) => {
      try {
        await request.startTransaction({ timeoutMs: 10 });
        await late.promise;
        if (how === 'throws') throw new Error('too late');
        if (how === 'sends') void reply.code(201).send({ id: '1' });
        return { id: '1' };
      } finally {
        finished.resolve();
      }
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });
    late.resolve();
    await finished.promise;
    await setImmediate();

    expect(response.statusCode).toBe(503);
    expect(await leftovers(made)).toEqual([]);
  });

  test('cannot pass for a success while the error handler works', async () => {
    const made = await application();
    const handling = signal();
    made.app.setErrorHandler(async (_error, _request, reply) => {
      handling.resolve();
      await never;
      return reply.send({});
    });
    made.app.post('/', async (request, reply) => {
      await request.startTransaction({ timeoutMs: 10 });
      await handling.promise;
      return reply.code(201).send({ id: '1' });
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([503, { code: 'AMBIT_TX_TIMEOUT' }]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('and then responds with an error of its own: the client receives the reason', async () => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      const scope = await request.startTransaction({ timeoutMs: 10 });
      await vi.waitUntil(() => request.transactionScope === undefined || made.pool.out === 0, { interval: 1 });
      try {
        await scope.resolve<{ query(sql: string): Promise<unknown> }>('IConnection').query('INSERT order');
      } catch {
        return reply.code(409).send({ error: 'too slow' });
      }
      return {};
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([503, { code: 'AMBIT_TX_TIMEOUT' }]);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });
});

test('an injected request whose caller destroys the response stream loses its scope', async () => {
  const made = await application();
  made.app.get('/', (_request, reply) => {
    const words = new Readable({ read: () => undefined });
    words.push('first');
    return reply.send(words);
  });

  const response = await made.app.inject({ url: '/', payloadAsStream: true });
  response.stream().destroy();

  expect(await leftovers(made)).toEqual([]);
});

describe('requireTransactionScope()', () => {
  test('throws a coded error that says what to do where there is none', async () => {
    const made = await application();
    made.app.post('/', async (request) => requireTransactionScope(request));

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({
      code: 'AMBIT_HTTP_NO_TRANSACTION',
      message: expect.stringMatching(/^No transaction in progress: .*startTransaction\(\)/) as string,
    });
  });
});
