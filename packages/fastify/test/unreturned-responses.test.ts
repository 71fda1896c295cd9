import type { Container } from '@ambit/container';
import type { FakeFault, FaultPoint } from '@ambit/transaction/testing';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { containerPlugin, transactionPlugin } from '../src/index.js';
import { application, leftovers, store } from './support/app.js';

const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const slowQuery = (point: FaultPoint): FakeFault => ({ ms: point === 'query' ? 20 : 0, kind: 'none' });

describe('an error that a handler sends, and does not return, is responded to', () => {
  const ends: Record<string, ((request: FastifyRequest) => unknown) | undefined> = {
    nothing: undefined,
    'what ends at once': (request) => (request.container as Container).defer(() => undefined),
    'what takes a moment': (request) => (request.container as Container).defer(() => Promise.resolve()),
    'what takes a while': (request) => (request.container as Container).defer(later),
    'what fails': (request) => (request.container as Container).defer(() => Promise.reject(new Error('cannot end'))),
    'an open transaction': (request) => request.startTransaction(),
  };

  async function responseWhile(ending: string, rest: (reply: FastifyReply) => unknown, handler = respondToError) {
    const made = await application({ plugin: { onDisposeError: () => undefined } });
    made.app.setErrorHandler(handler);
    made.app.get('/', async (request, reply) => {
      await ends[ending]?.(request);
      void reply.code(404).send(new Error('not found'));
      return rest(reply);
    });
    const response = await made.app.inject('/');
    expect(await leftovers(made)).toEqual([]);
    return `${response.statusCode} ${response.body}`;
  }
  const respondToError = (error: unknown, _request: FastifyRequest, reply: FastifyReply): unknown =>
    reply.send((error as Error).message);
  const respondLate: typeof respondToError = async (...args) => {
    await later();
    return respondToError(...args);
  };

  test.each(Object.keys(ends))('after %s', async (ending) => {
    expect(await responseWhile(ending, () => undefined)).toBe('404 not found');
  });

  test.each(Object.keys(ends))('after %s, also by a handler that takes its time, if it is returned', async (ending) => {
    expect(await responseWhile(ending, (reply) => reply, respondLate)).toBe('404 not found');
  });

  test.each(['what takes a while', 'an open transaction'])(
    'and what it returns before %s is over is dropped',
    async (ending) => {
      expect(await responseWhile(ending, () => 'second')).toBe('404 not found');
    },
  );

  test.each(['what takes a while', 'an open transaction'])(
    'and what it throws before %s is over is dropped',
    async (ending) => {
      expect(await responseWhile(ending, () => Promise.reject(new Error('second')))).toBe('404 not found');
    },
  );

  test('at once, where there is known to be nothing to wait for', async () => {
    const { app } = await application();
    const sent: boolean[] = [];
    app.get('/', (_request, reply) => {
      void reply.send(new Error('no'));
      sent.push(reply.raw.writableEnded);
    });

    for (let i = 0; i < 3; i++) await app.inject('/');

    // The first one teaches that the promise of a scope without anything to end has settled.
    expect(sent.slice(1)).toEqual([true, true]);
  });

  test('with a `send` of its own where somebody gave it one', async () => {
    const { app } = await application();
    const payloads: unknown[] = [];
    app.addHook('onRequest', (_request, reply, done) => {
      const send = reply.send.bind(reply);
      reply.send = (payload) => {
        payloads.push(payload);
        return send(payload);
      };
      done();
    });
    app.setErrorHandler((_error, _request, reply) => reply.send('handled'));
    app.get('/', async (request) => {
      await request.startTransaction();
      throw new Error('no');
    });

    expect((await app.inject('/')).body).toBe('handled');
    expect(payloads).toMatchObject([{ message: 'no' }, 'handled']);
  });
});

test('the response to a handler that takes too long says so, though its statement fails while it is rolled back', async () => {
  const { container, pool } = await application({ pool: { faultAt: slowQuery } });
  const app = fastify({ handlerTimeout: 5 });
  await app.register(containerPlugin, { container });
  await app.register(transactionPlugin, { cancelAfterMs: 1 });
  app.get('/', async (request) => {
    await request.startTransaction();
    await store(request, 'INSERT order');
  });

  const response = await app.inject('/');

  expect(response.json()).toMatchObject({ statusCode: 503, code: 'FST_ERR_HANDLER_TIMEOUT' });
  expect(await leftovers({ container, pool })).toEqual([]);
  await app.close();
});
