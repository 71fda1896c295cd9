import type { IContainer } from '@ambit/container';
import { Container, hasTag, Registration, scope, singleton } from '@ambit/container';
import type { FastifyError } from 'fastify';
import { describe, expect, test } from 'vitest';
import { containerPlugin } from '../src/index.js';
import { application, leftovers, serve, server } from './support/app.js';

const codeOf = (response: { json(): unknown }): string => (response.json() as FastifyError).code;

describe('the container plugin', () => {
  test('decorates the server with the application container', async () => {
    const { app, container } = await application();
    expect(app.container).toBe(container);
  });

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

  test('disposes the scope with the response, also of a route that nobody knows', async () => {
    const made = await application();
    made.app.get('/', () => 'hello');

    expect((await made.app.inject('/')).statusCode).toBe(200);
    expect((await made.app.inject('/unknown')).statusCode).toBe(404);
    expect(await leftovers(made)).toEqual([]);
  });

  test('disposes what the request made, once, and what the application made when the server closes', async () => {
    const ended: string[] = [];
    const ends = (name: string) => () => ({ dispose: () => void ended.push(name) });
    const container = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromFactory(ends('pool')).pipe(singleton()).to('IPool'),
      Registration.fromFactory(ends('users'))
        .pipe(singleton(), scope(hasTag('request')))
        .to('IUserRepository'),
    );
    const app = server();
    await app.register(containerPlugin, { container });
    app.get('/', ({ container: own }) => ({ made: [own.resolve('IPool'), own.resolve('IUserRepository')] }));
    const { fetch } = await serve(app);

    await (await fetch('/')).json();
    await expect.poll(() => ended).toEqual(['users']);
    await app.close();

    expect(ended).toEqual(['users', 'pool']);
  });

  test('disposes the scope of a failed request before the error handler runs', async () => {
    const made = await application();
    made.app.setErrorHandler((_error, request) => ({ disposed: (request.container as Container).disposed }));
    made.app.get('/', () => {
      throw new Error('no');
    });

    expect((await made.app.inject('/')).json()).toEqual({ disposed: true });
    expect(await leftovers(made)).toEqual([]);
  });

  test('leaves the scope to the error handler with disposeOn: response', async () => {
    const made = await application({ plugin: { disposeOn: 'response' } });
    made.app.setErrorHandler((_error, request) => ({ disposed: (request.container as Container).disposed }));
    made.app.get('/', () => {
      throw new Error('no');
    });

    expect((await made.app.inject('/')).json()).toEqual({ disposed: false });
    expect(await leftovers(made)).toEqual([]);
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

  test('serves any container, such as one of given values in a test', async () => {
    const users = [{ id: '1', name: 'Ada', email: 'ada@example.com' }];
    const container = new Container().addRegistration(
      Registration.fromValue({ findAll: async () => users }).to('IUserRepository'),
    );
    const app = server();
    await app.register(containerPlugin, { container });
    app.get('/users', (request) =>
      request.container.resolve<{ findAll(): Promise<object[]> }>('IUserRepository').findAll(),
    );

    expect((await app.inject('/users')).json()).toEqual(users);
  });

  test('refuses options that cannot be', async () => {
    const without = server().register(containerPlugin, {} as { container: IContainer });
    await expect(async () => without).rejects.toThrow('needs the application container');
    const wrong = server().register(containerPlugin, { container: new Container(), disposeOn: 'close' as 'error' });
    await expect(async () => wrong).rejects.toMatchObject({ code: 'AMBIT_HTTP_OPTION' });
  });
});

describe('encapsulation', () => {
  test('routes outside of the context that registered the plugin have no scope', async () => {
    const app = server();
    const container = new Container();
    await app.register(async (inner) => {
      await inner.register(containerPlugin, { container });
      inner.get('/inside', (request) => ({ has: request.container !== undefined }));
    });
    app.get('/outside', (request) => ({ has: request.container !== undefined }));

    expect((await app.inject('/inside')).json()).toEqual({ has: true });
    expect((await app.inject('/outside')).json()).toEqual({ has: false });
  });

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

  test('a second container for the same routes is refused', async () => {
    const app = server();
    await app.register(containerPlugin, { container: new Container() });
    const second = app.register(containerPlugin, { container: new Container() });
    await expect(async () => second).rejects.toMatchObject({ code: 'FST_ERR_DEC_ALREADY_PRESENT' });
  });

  test('the plugin goes by the name `container` and claims Fastify 4 and 5', async () => {
    const app = server();
    await app.register(containerPlugin, { container: new Container() });
    expect(app.hasPlugin('container')).toBe(true);
    expect(Reflect.get(containerPlugin, Symbol.for('plugin-meta'))).toMatchObject({ fastify: '4.x || 5.x' });
  });
});

describe('an application container that was disposed', () => {
  test('responds with its own error', async () => {
    const { app, container } = await application();
    app.get('/', () => 'hello');
    await container.dispose();

    const response = await app.inject('/');

    expect(response.statusCode).toBe(500);
    expect(codeOf(response)).toBe('AMBIT_DISPOSED');
  });
});
