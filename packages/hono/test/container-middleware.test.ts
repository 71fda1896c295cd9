import { Container, hasTag, onDispose, Registration, scope, singleton } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import type { IContainer } from '@ambit/container';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { containerMiddleware, type ContainerMiddlewareOptions } from '../src/index.js';
import { Served, serving } from './support/served.js';

/** An application container whose request scopes hold an `IResource`, and Hono on it. */
class App {
  readonly disposed: string[] = [];
  readonly container = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => ({ name: 'resource' }))
      .pipe(
        singleton(),
        scope(hasTag('request')),
        onDispose(() => void this.disposed.push('resource')),
      )
      .to('IResource'),
  );
  readonly hono = new Hono();
  readonly middleware;

  constructor(options: ContainerMiddlewareOptions = {}) {
    this.middleware = containerMiddleware(this.container, options);
    this.hono.use(this.middleware);
    this.hono.get('/', (c) => {
      c.get('container').resolve('IResource');
      return c.text('hello');
    });
  }

  get open(): number {
    return openScopes(this.container).length;
  }
}

/** A request through a socket of Node, and one that comes as a `Request` alone, as on other runtimes. */
const ways = [
  { way: 'over a socket', over: (app: App): Promise<Served> => serving(app.hono) },
  { way: 'in-process', over: (app: App): Promise<Served> => Promise.resolve(Served.inProcess(app.hono)) },
];

describe.each(ways)('a request $way', ({ over }) => {
  test('has a scope of its own as c.get("container") and c.var.container, and it is disposed once', async () => {
    const app = new App();
    app.hono.get('/tags', (c) =>
      c.json([(c.get('container') as Container).tags, c.var.container === c.get('container')]),
    );
    await using served = await over(app);
    expect(await (await served.get('/tags')).json()).toEqual([['request'], true]);
    expect(await (await served.get('/')).text()).toBe('hello');
    await app.middleware.drain();
    expect([app.disposed, app.open, app.middleware.openRequests]).toEqual([['resource'], 0, 0]);
  });

  test('whose handler throws has the response of onError, which finds the scope open', async () => {
    const app = new App();
    app.hono.get('/broken', () => {
      throw new Error('the reason');
    });
    app.hono.onError(({ message }, c) => {
      c.get('container').resolve('IResource');
      return c.json({ message }, 500);
    });
    await using served = await over(app);
    expect(await (await served.get('/broken')).json()).toEqual({ message: 'the reason' });
    await app.middleware.drain();
    expect(app.disposed).toEqual(['resource']);
  });
});

test('on Workers, the execution context waits for the disposal', async () => {
  const app = new App();
  const works: Promise<unknown>[] = [];
  const executionCtx = {
    waitUntil: (work: Promise<unknown>) => void works.push(work),
    passThroughOnException: () => undefined,
    props: {},
  };
  await app.hono.fetch(new Request('http://localhost/'), {}, executionCtx);
  expect(works).toHaveLength(1);
  await Promise.all(works);
  expect(app.disposed).toEqual(['resource']);
});

test('HEAD, to which Hono responds as to a GET without its body, leaves no scope open', async () => {
  const app = new App();
  app.hono.get('/stream', (c) => c.body(new ReadableStream({ pull: () => new Promise(() => undefined) })));
  await app.hono.request('/stream', { method: 'HEAD' });
  await app.middleware.drain();
  expect(app.open).toBe(0);
});

test.for<[string, () => unknown]>([
  ['no container', () => containerMiddleware(undefined as unknown as IContainer)],
  ['maxRequests: 0', () => containerMiddleware(new Container(), { maxRequests: 0 })],
  ['maxRequestsPerConnection: 0', () => containerMiddleware(new Container(), { maxRequestsPerConnection: 0 })],
  ['register: 1', () => containerMiddleware(new Container(), { register: 1 as unknown as () => void })],
])('%s is refused', ([, make]) => {
  expect(make).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
});
