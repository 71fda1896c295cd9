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

  test('is refused with 503 beyond maxRequests, unless it is essential', async () => {
    const app = new App({ maxRequests: 1, isEssential: ({ req }) => req.path === '/' });
    let end = (): void => undefined;
    app.hono.get('/slow', async (c) => {
      await new Promise<void>((resolve) => (end = resolve));
      return c.text('at last');
    });
    app.hono.onError((error, c) =>
      c.json({ code: (error as { code?: string }).code }, (error as { status?: 503 }).status),
    );
    await using served = await over(app);
    const slow = served.get('/slow');
    await expect.poll(() => app.open).toBe(1);
    const refused = await served.get('/slow');
    expect([refused.status, await refused.json()]).toEqual([503, { code: 'AMBIT_HTTP_OVERLOADED' }]);
    expect(await (await served.get('/')).text()).toBe('hello');
    end();
    expect(await (await slow).text()).toBe('at last');
  });
});

describe('the container may be a function of the context', () => {
  test.for(['sync', 'async'])('%s, so that each tenant has its own', async (how) => {
    const tenants = new Map(
      ['a', 'b'].map((name) => [name, new Container().addRegistration(Registration.fromValue(name).to('ITenant'))]),
    );
    const app = new Hono();
    app.use(
      containerMiddleware((c) => {
        const tenant = tenants.get(c.req.header('tenant') ?? '') as IContainer;
        return how === 'sync' ? tenant : Promise.resolve(tenant);
      }),
    );
    app.get('/', (c) => c.text(c.get('container').resolve<string>('ITenant')));
    for (const tenant of ['a', 'b'])
      expect(await (await app.request('/', { headers: { tenant } })).text()).toBe(tenant);
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
