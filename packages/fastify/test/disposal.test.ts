import { signal } from '@ambit/host-contract';
import { describe, expect, test } from 'vitest';
import { application, leftovers, get, serve } from './support/app.js';

const pending = (): Promise<never> => new Promise(() => undefined);

describe('a request scope is disposed although', () => {
  test('a hook that runs when it is responded to fails', async () => {
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
});
