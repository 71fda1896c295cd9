import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { Stream, Readable } from 'node:stream';
import { openScopes } from '@ambit/container/tools';
import type { FastifyReply } from 'fastify';
import { describe, expect, test } from 'vitest';
import { application, leftovers, store } from './support/app.js';

describe('close() while an injected request is in progress', () => {
  test('waits for its response', async () => {
    const { app, container } = await application();
    let goOn = (): void => undefined;
    app.get('/', async (request) => {
      await new Promise<void>((resolve) => (goOn = resolve));
      return { open: openScopes(container).length, tags: request.container.resolve('IRequestSignal').aborted };
    });
    const response = app.inject('/');
    await expect.poll(() => openScopes(container).length).toBe(1);
    const closing = app.close();
    setImmediate(goOn);
    expect((await response).json()).toEqual({ open: 1, tags: false });
    await closing;
  });

  test('waits disposeTimeoutMs for one that gets no response, then rolls back and disposes its scope', async () => {
    const made = await application({ plugin: { disposeTimeoutMs: 20 } });
    const { app, pool } = made;
    const aborted: boolean[] = [];
    let listens = (): void => undefined;
    const listening = new Promise<void>((resolve) => (listens = resolve));
    app.get('/', { config: { transaction: true } }, async (request) => {
      await store(request, 'INSERT order');
      request.container.resolve<AbortSignal>('IRequestSignal').addEventListener('abort', () => aborted.push(true));
      listens();
      await new Promise(() => undefined);
    });
    void app.inject('/');
    await listening;
    await app.close();
    expect([aborted, pool.stored]).toEqual([[true], []]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('waits for none that was hijacked', async () => {
    const { app, container } = await application({ plugin: { disposeTimeoutMs: Infinity } });
    app.get('/', (_request, reply) => void reply.hijack());
    void app.inject('/');
    await expect.poll(() => openScopes(container).length).toBe(1);
    await app.close();
    expect(openScopes(container)).toEqual([]);
  });
});

describe('a route with config.transaction rolls back and responds with 500', () => {
  const responses: Record<string, (reply: FastifyReply) => unknown> = {
    'a payload of another type': (reply) => reply.type('text/plain').send(7),
    'a header with a line break': (reply) => reply.header('x-note', 'a\r\nb').send('ok'),
    'a header whose name is none': (reply) => reply.header('x note', 'a').send('ok'),
    'a file that is not there': (reply) => reply.send(createReadStream('/is/not/there')),
    'a file that is not there, as the result': () => createReadStream('/is/not/there'),
    'a stream that has failed': (reply) => {
      const file = createReadStream('/is/not/there').on('error', () => undefined);
      return once(file, 'close').then(() => reply.send(file));
    },
    'a Response whose body was read': async (reply) => {
      const response = new Response('ok');
      await response.text();
      return reply.send(response);
    },
    'a web stream that is locked': (reply) => {
      const { body } = new Response('ok');
      body?.getReader();
      return reply.send(body);
    },
  };

  test.each(Object.entries(responses))('for %s', async (_name, respond) => {
    const made = await application();
    made.app.post('/', { config: { transaction: true } }, async (request, reply) => {
      await store(request, 'INSERT order');
      return respond(reply.code(201));
    });
    const response = await made.app.inject({ method: 'POST', url: '/' });
    expect([response.statusCode, made.pool.stored]).toEqual([500, []]);
    expect(await leftovers(made)).toEqual([]);
  });
});

test('a stream of the old style is sent whole behind COMMIT', async () => {
  const made = await application();
  made.app.post('/', { config: { transaction: true } }, async (request, reply) => {
    await store(request, 'INSERT order');
    const old = Object.assign(new Stream(), { readable: true, pause: () => undefined, resume: () => undefined });
    process.nextTick(() => {
      old.emit('data', '[1');
      old.emit('data', ',2]');
      old.emit('end');
    });
    return reply.type('application/json').send(old);
  });
  const response = await made.app.inject({ method: 'POST', url: '/' });
  expect([response.statusCode, response.body, made.pool.stored]).toEqual([200, '[1,2]', ['INSERT order']]);
  expect(await leftovers(made)).toEqual([]);
});

describe('IRequestSignal', () => {
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
