import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { application, leftovers, store } from './support/app.js';

const missing = () => createReadStream('/no/such/file');

describe('a response stream that fails while its transaction is undone', () => {
  test.each([
    ['was left open', 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN', 500, () => undefined],
    [
      'has timed out',
      'AMBIT_TX_TIMEOUT',
      503,
      (request: FastifyRequest) =>
        new Promise<void>((resolve) => {
          const { transactionScope } = request;
          transactionScope?.defer?.(() => resolve());
        }),
    ],
  ] as const)('because it %s is dropped, and the response is the error', async (_why, code, status, wait) => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      await request.startTransaction({ timeoutMs: status === 503 ? 5 : 30_000 });
      await wait(request);
      return reply.send(missing());
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([status, { code }]);
    expect(await leftovers(made)).toEqual([]);
    await setImmediate();
  });

  test('or committed is responded to with its error, and the commit stands', async () => {
    const made = await application({
      pool: { faultAt: (point) => ({ ms: point === 'commit' ? 20 : 0, kind: 'none' }) },
    });
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      void request.commitTransaction();
      return reply.send(missing());
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([500, { code: 'ENOENT' }]);
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });

  test('is dropped, too, where it is a second response', async () => {
    const made = await application();
    let second: Readable | undefined;
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      void reply.send({ first: true });
      second = missing();
      void reply.send(second);
      return reply;
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toMatchObject({ code: 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN' });
    expect(second?.destroyed).toBe(true);
    expect(await leftovers(made)).toEqual([]);
    await setImmediate();
  });

  test('is cancelled where it is a web stream or a Response', async () => {
    const made = await application();
    const cancelled: string[] = [];
    const stream = (name: string): ReadableStream => new ReadableStream({ cancel: () => void cancelled.push(name) });
    const respond = (payload: () => unknown) => async (request: FastifyRequest, reply: FastifyReply) => {
      await request.startTransaction();
      return reply.send(payload());
    };
    made.app.post(
      '/stream',
      respond(() => stream('stream')),
    );
    made.app.post(
      '/response',
      respond(() => new Response(stream('response'))),
    );

    for (const url of ['/stream', '/response']) {
      expect((await made.app.inject({ method: 'POST', url })).statusCode).toBe(500);
    }

    expect(cancelled).toEqual(['stream', 'response']);
  });
});
