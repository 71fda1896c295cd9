import type { IContainer } from '@ambit/container';
import { Container, Registration } from '@ambit/container';
import { describe, expect, test } from 'vitest';
import { containerPlugin } from '../src/index.js';
import { application, server } from './support/app.js';

describe('the container plugin', () => {
  test('decorates each request with `container`, initially null, then a scope tagged `request` of its own', async () => {
    const app = server();
    const initially: unknown[] = [];
    app.addHook('onRequest', async (request) => void initially.push(request.container));
    const container = new Container({ tags: ['application'] });
    await app.register(containerPlugin, { container });
    const scopes: IContainer[] = [];
    app.get('/', (request) => {
      scopes.push(request.container);
      return { tags: (request.container as Container).tags };
    });

    expect((await app.inject('/')).json()).toEqual({ tags: ['request'] });
    await app.inject('/');

    expect(initially).toEqual([null, null]);
    expect(new Set(scopes).size).toBe(2);
    expect(scopes.map((each) => (each as Container).parent)).toEqual([container, container]);
  });

  test.each([
    ['error', false],
    ['response', true],
  ] as const)('with disposeOn %s the error handler has the scope: %s', async (disposeOn, has) => {
    const { app } = await application({ plugin: { disposeOn } });
    app.setErrorHandler((_error, { container }) => ({ has: !(container as Container).disposed }));
    app.get('/', () => expect.unreachable('no'));

    expect((await app.inject('/')).json()).toEqual({ has });
  });

  test('waits for an asynchronous disposal before the error handler runs', async () => {
    const events: string[] = [];
    const { app } = await application();
    app.setErrorHandler(() => events.push('error handler'));
    app.get('/', (request) => {
      (request.container as Container).defer(async () => {
        await new Promise(setImmediate);
        events.push('ended');
      });
      throw new Error('no');
    });

    await app.inject('/');

    expect(events).toEqual(['ended', 'error handler']);
  });

  test('refuses options that cannot be', async () => {
    const without = server().register(containerPlugin, {} as { container: IContainer });
    await expect(async () => without).rejects.toThrow('needs the application container');
    const wrong = server().register(containerPlugin, { container: new Container(), disposeOn: 'close' as 'error' });
    await expect(async () => wrong).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });
});

describe('encapsulation', () => {
  test('two contexts have a container each', async () => {
    const app = server();
    for (const name of ['a', 'b']) {
      const container = new Container().addRegistration(Registration.fromValue(name).to('name'));
      await app.register(async (inner) => {
        await inner.register(containerPlugin, { container });
        inner.get(`/${name}`, (request) => ({ name: request.container.resolve('name') }));
      });
    }

    expect((await app.inject('/a')).json()).toEqual({ name: 'a' });
    expect((await app.inject('/b')).json()).toEqual({ name: 'b' });
  });

  test('a context within has the container, in its hooks as well', async () => {
    const { app, container } = await application();
    const scopes: unknown[] = [];
    await app.register(async (inner) => {
      inner.addHook('preHandler', async (request) => void scopes.push((request.container as Container).parent));
      inner.get('/', () => 'hello');
    });

    await app.inject('/');

    expect(scopes).toEqual([container]);
    expect(app.container).toBe(container);
  });

  test('a second container for the same routes is refused', async () => {
    const app = server();
    await app.register(containerPlugin, { container: new Container() });
    const second = app.register(containerPlugin, { container: new Container() });
    await expect(async () => second).rejects.toMatchObject({ code: 'FST_ERR_DEC_ALREADY_PRESENT' });
  });

  test('the plugin goes by the name `container` and claims Fastify 5.x', async () => {
    const app = server();
    await app.register(containerPlugin, { container: new Container() });
    expect(app.hasPlugin('container')).toBe(true);
    expect(Reflect.get(containerPlugin, Symbol.for('plugin-meta'))).toMatchObject({ fastify: '5.x' });
  });
});
