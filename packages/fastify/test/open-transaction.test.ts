import { signal } from '@ambit/test-kit';
import { Readable } from 'node:stream';
import type { IConnection } from '@ambit/transaction';
import { fastify, type FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { application, get, leftovers, serve, store } from './support/app.js';

describe('an open transaction is rolled back', () => {
  test.each(['error', 'response'] as const)('before the error handler runs (disposeOn: %s)', async (disposeOn) => {
    const made = await application({ plugin: { disposeOn } });
    made.app.setErrorHandler((error: Error, request) => ({
      error: error.message,
      out: made.pool.out,
      scope: request.transactionScope === undefined,
    }));
    made.app.post('/', async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      throw new Error('no stock');
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toEqual({ error: 'no stock', out: 0, scope: true });
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test.each([
    ['an object', () => ({ id: '1' })],
    ['a text', () => 'created'],
    ['nothing', () => null],
    ['a stream', () => Readable.from(['created'])],
  ])('when the handler responds with %s, which becomes a 500', async (_what, body) => {
    const made = await application();
    const payload = body();
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      return reply.code(201).header('location', '/orders/1').header('content-language', 'en').send(payload);
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({ code: 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN' });
    expect(response.headers).not.toHaveProperty('location');
    expect(response.headers).not.toHaveProperty('content-language');
    expect(payload instanceof Readable ? payload.destroyed : true).toBe(true);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test.each([
    ['its scope', (request: FastifyRequest) => request.transactionScope?.dispose()],
    ['the scope of the request', (request: FastifyRequest) => request.container.dispose()],
  ])('when the handler disposes %s, and responds as if all were well', async (_what, dispose) => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await dispose(request);
      return reply.code(201).send({ id: '1' });
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([500, { code: 'AMBIT_TX_FINISHED' }]);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('when the client goes away, and Fastify logs no error for it', async () => {
    const lines: string[] = [];
    const made = await application({
      server: fastify({ logger: { level: 'info', stream: { write: (line) => void lines.push(line) } } }),
    });
    const [arrived, left, refused] = [signal(), signal(), signal()];
    made.app.get('/', async (request) => {
      const scope = await request.startTransaction();
      const connection = scope.resolve<IConnection>('IConnection');
      arrived.resolve();
      await left.promise;
      await connection.query('INSERT order').finally(() => setImmediate(refused.resolve));
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();
    expect(await leftovers(made)).toEqual([]);
    left.resolve();
    await refused.promise;

    expect(lines.filter((line) => line.includes('Error'))).toEqual([]);
  });

  test('when the signal of the caller aborts', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      const own = new AbortController();
      await request.startTransaction({ signal: own.signal });
      own.abort(new Error('enough'));
      await request.commitTransaction();
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(await leftovers(made)).toEqual([]);
  });
});
