import { once } from 'node:events';
import { Readable } from 'node:stream';
import { fastify, type FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { containerPlugin } from '../src/index.js';
import { application, leftovers, get, serve, signal } from './support/app.js';

const pending = (): Promise<never> => new Promise(() => undefined);

describe('a request scope ends although', () => {
  test('the client leaves before the handler is done', async () => {
    const made = await application();
    const arrived = signal<FastifyRequest>();
    made.app.get('/', (request) => {
      arrived.resolve(request);
      return pending();
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();

    expect(await leftovers(made)).toEqual([]);
  });

  test('its request waits behind another on a socket that dies', async () => {
    const made = await application();
    const arrived = signal();
    made.app.get('/first', pending);
    made.app.get('/second', () => 'hello');
    made.app.get('/third', () => {
      arrived.resolve();
      return 'hello';
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/first') + get('/second') + get('/third'));
    await arrived.promise;
    socket.destroy();

    expect(await leftovers(made)).toEqual([]);
  });

  test('a hook that runs when it is answered fails', async () => {
    const made = await application({
      before: (app) =>
        app.addHook('onResponse', (_request, _reply, done) => done(new Error('no more room in the log'))),
    });
    made.app.get('/', () => 'hello');
    await (await (await serve(made.app)).fetch('/')).text();
    expect(await leftovers(made)).toEqual([]);
  });

  test('its container takes no registrations, and it waits behind another on a socket that dies', async () => {
    const made = await application({ plugin: { disposeOn: 'response' } });
    const refuse = (): never => {
      throw new Error('read-only');
    };
    const createScope = made.container.createScope.bind(made.container);
    made.container.createScope = (options) => Object.assign(createScope(options), { register: refuse });
    const failed = signal();
    made.app.get('/first', pending).get('/second', pending);
    made.app.setErrorHandler((_error, { url }) => {
      if (url === '/second') failed.resolve();
      return pending();
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/first') + get('/second'));
    await failed.promise;
    socket.destroy();

    expect(await leftovers(made)).toEqual([]);
  });

  test('the upload is cut off', async () => {
    const made = await application();
    made.app.post('/', () => 'hello');
    const hooked = signal();
    made.app.addHook('onRequest', async () => hooked.resolve());
    const socket = await (await serve(made.app)).socket();

    socket.write('POST / HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"a":');
    await hooked.promise;
    socket.destroy();

    expect(await leftovers(made)).toEqual([]);
  });

  test('a stream fails after its first bytes', async () => {
    const made = await application();
    made.app.post('/', () =>
      Readable.from(
        (async function* () {
          yield 'some';
          await new Promise(setImmediate);
          throw new Error('no more');
        })(),
      ),
    );
    const { fetch } = await serve(made.app);

    await expect(fetch('/', { method: 'POST' }).then((answer) => answer.text())).rejects.toThrow();
    expect(await leftovers(made)).toEqual([]);
  });

  test('the handler takes the response into its own hands', async () => {
    const made = await application();
    made.app.get('/', (_request, reply) => {
      reply.hijack();
      reply.raw.end('mine');
    });
    const { fetch } = await serve(made.app);

    expect(await (await fetch('/')).text()).toBe('mine');
    expect(await leftovers(made)).toEqual([]);
  });

  test('the client was gone before the request came to the plugin', async () => {
    const { container, pool } = await application();
    const app = fastify();
    const arrived = signal();
    const handled = signal();
    app.addHook('onRequest', async ({ raw }) => {
      arrived.resolve();
      if (!raw.socket.closed) await once(raw.socket, 'close');
    });
    await app.register(containerPlugin, { container });
    app.addHook('onRequest', async () => handled.resolve());
    app.get('/', () => 'hello');
    const socket = await (await serve(app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();
    await handled.promise;

    expect(await leftovers({ container, pool })).toEqual([]);
    await app.close();
  });

  test('it says HTTP/2 on a connection of HTTP/1, and its client leaves', async () => {
    const made = await application();
    const arrived = signal();
    made.app.get('/', () => {
      arrived.resolve();
      return pending();
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/').replace('HTTP/1.1', 'HTTP/2.0'));
    await arrived.promise;
    socket.destroy();

    expect(await leftovers(made)).toEqual([]);
  });
});
