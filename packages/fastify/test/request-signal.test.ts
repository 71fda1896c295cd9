import { signal } from '@ambit/host-contract';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { application, get, serve } from './support/app.js';

const pending = (): Promise<never> => new Promise(() => undefined);

describe('IRequestSignal', () => {
  test('aborts when the client goes before it has its response', async () => {
    const made = await application();
    const aborted = signal<unknown>();
    const arrived = signal();
    made.app.get('/', ({ container }) => {
      const disconnected = container.resolve('IRequestSignal');
      disconnected.addEventListener('abort', () => aborted.resolve(disconnected.reason));
      arrived.resolve();
      return pending();
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();

    expect(await aborted.promise).toMatchObject({ code: 'AMBIT_HTTP_CLIENT_DISCONNECTED' });
  });

  test('does not abort for a client that has its response, nor for a body that was read', async () => {
    const { app, container } = await application();
    const signals: AbortSignal[] = [];
    app.post('/', async (request) => {
      signals.push(request.container.resolve('IRequestSignal'));
      await new Promise(setImmediate);
      return { aborted: signals[0]?.aborted };
    });
    const { fetch } = await serve(app);

    const response = await fetch('/', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });

    expect(await response.json()).toEqual({ aborted: false });
    await app.close();
    expect(container.disposed).toBe(true);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  test('does not abort for an injected request that is responded to', async () => {
    const { app } = await application();
    const signals: AbortSignal[] = [];
    app.get('/', (request) => {
      signals.push(request.container.resolve('IRequestSignal'));
      return { ok: true };
    });
    app.get('/stream', (request, reply) => {
      signals.push(request.container.resolve('IRequestSignal'));
      return reply.send(Readable.from(['first', 'second']));
    });

    await app.inject('/');
    await app.inject('/stream');
    const streamed = await app.inject({ url: '/stream', payloadAsStream: true });
    for await (const chunk of streamed.stream()) expect(String(chunk)).not.toBe('');

    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });
});
