import { Container, currentScope, hasTag, onStart, Registration, scope, singleton } from '@ambit/container';
import type { IContainer } from '@ambit/container';
import { TransactionError } from '@ambit/transaction';
import { describe, expect, test, vi } from 'vitest';
import { createHandler, errorResponse, HttpError } from '../src/index.js';
import { App, get, settled, SlowBody } from './support/app.js';

const hello = (): Response => new Response('hello');

describe('a request', () => {
  test('has a scope of its own, tagged request, below the application container', async () => {
    const { container } = new App();
    const seen: IContainer[] = [];
    const handler = createHandler(container, (_request, own) => {
      seen.push(own);
      return hello();
    });
    expect(await (await handler(get())).text()).toBe('hello');
    await handler(get());
    expect(seen[0]).not.toBe(seen[1]);
    expect(seen).toMatchObject([{ tags: ['request'] }, { tags: ['request'] }]);
    expect((seen[0] as Container).parent).toBe(container);
  });

  test('has the tags that the application chose', async () => {
    const { container } = new App();
    const handler = createHandler(container, (_request, own) => Response.json((own as Container).tags), {
      tags: ['request', 'http'],
    });
    expect(await (await handler(get())).json()).toEqual(['request', 'http']);
  });

  test('has its scope disposed once the response is returned', async () => {
    const app = new App();
    const handler = createHandler(app.container, (_request, own) => {
      own.resolve('IResource');
      return hello();
    });
    await handler(get());
    expect(app.disposed).toEqual(['resource']);
    expect(app.open).toBe(0);
  });

  test('has its scope disposed when its handler throws, and the host receives the error', async () => {
    const app = new App();
    const handler = createHandler(app.container, (_request, own): Response => {
      own.resolve('IResource');
      throw new Error('the reason');
    });
    await expect(handler(get())).rejects.toThrow('the reason');
    expect(app.disposed).toEqual(['resource']);
  });

  test('receives the context of the host', async () => {
    const { container } = new App();
    const handler = createHandler(container, (_request, _scope, context: { ip: string }) => new Response(context.ip));
    expect(await (await handler(get(), { ip: '10.0.0.1' })).text()).toBe('10.0.0.1');
  });

  test('gives the disposal of its scope to waitUntil, which never rejects', async () => {
    const { container } = new App();
    const works: Promise<unknown>[] = [];
    const handler = createHandler(
      container,
      (_request, own) => {
        own.defer?.(() => Promise.reject(new Error('it failed')));
        return hello();
      },
      { onDisposeError: () => undefined },
    );
    await handler(get(), { waitUntil: (work: Promise<unknown>) => void works.push(work) });
    expect(works).toHaveLength(1);
    await Promise.all(works);
  });

  test('whose handler returns nothing, as for an upgraded connection, gives nothing to the host', async () => {
    const app = new App();
    const handler = createHandler(app.container, () => undefined);
    expect(await handler(get())).toBe(undefined);
    expect(app.open).toBe(0);
  });
});

describe('the container may be a function of the request', () => {
  test.for([
    { name: 'sync', of: (tenants: Map<string, Container>, name: string) => tenants.get(name)! },
    { name: 'async', of: async (tenants: Map<string, Container>, name: string) => tenants.get(name)! },
  ])('$name, so that each tenant has its own', async ({ of }) => {
    const tenants = new Map(
      ['a', 'b'].map((name) => [name, new Container().addRegistration(Registration.fromValue(name).to('ITenant'))]),
    );
    const handler = createHandler(
      (request: Request) => of(tenants, request.headers.get('tenant') ?? ''),
      (_request, own) => new Response(own.resolve<string>('ITenant')),
    );
    expect(await (await handler(get({ headers: { tenant: 'a' } }))).text()).toBe('a');
    expect(await (await handler(get({ headers: { tenant: 'b' } }))).text()).toBe('b');
  });

  test('whose failure is the failure of the request', async () => {
    const handler = createHandler(() => Promise.reject(new Error('no such tenant')), hello);
    await expect(handler(get())).rejects.toThrow('no such tenant');
    await settled();
    expect(handler.openRequests).toBe(0);
  });
});

describe('before the handler', () => {
  test.for([
    { name: 'sync', wait: (): unknown => undefined },
    { name: 'async', wait: (): unknown => settled() },
  ])('register ($name) binds data of the request', async ({ wait }) => {
    const { container } = new App();
    const handler = createHandler(container, (_request, own) => new Response(own.resolve<string>('IPath')), {
      register: async (own, { url }) => {
        await wait();
        own.register('IPath', () => new URL(url).pathname);
      },
    });
    expect(await (await handler(get())).text()).toBe('/');
  });

  test('start: true runs onStart of request-scoped services', async () => {
    const started: string[] = [];
    const container = new Container().addRegistration(
      Registration.fromFactory(() => ({}))
        .pipe(
          singleton(),
          scope(hasTag('request')),
          onStart(async () => {
            await settled();
            started.push('session');
          }),
        )
        .to('ISession'),
    );
    const handler = createHandler(container, () => Response.json(started), { start: true });
    expect(await (await handler(get())).json()).toEqual(['session']);
  });

  test('a service that fails to start fails the request, and its scope is disposed', async () => {
    const app = new App();
    const failing = onStart(() => Promise.reject(new Error('no session')));
    app.container.addRegistration(
      Registration.fromFactory(() => ({}))
        .pipe(singleton(), scope(hasTag('request')), failing)
        .to('ISession'),
    );
    const handler = createHandler(app.container, hello, { start: true });
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_START_FAILED' });
    await settled();
    expect(app.open).toBe(0);
  });

  test('start: true with a container that cannot start is refused', async () => {
    const foreign = { createScope: () => ({ register: () => undefined, dispose: () => undefined }) };
    const handler = createHandler(foreign as unknown as IContainer, hello, { start: true });
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });
});

describe('current: true', () => {
  test('makes the scope the current one in the handler, after an await and in the stream of the response', async () => {
    const { container } = new App();
    const handler = createHandler(
      container,
      async (_request, own) => {
        await settled();
        const isCurrent = currentScope() === own;
        const body = new ReadableStream({
          async pull(controller) {
            await settled();
            controller.enqueue(new TextEncoder().encode(`${isCurrent} ${currentScope() === own}`));
            controller.close();
          },
        });
        return new Response(body);
      },
      { current: true },
    );
    expect(await (await handler(get())).text()).toBe('true true');
  });

  test('is off by default', async () => {
    const { container } = new App();
    const handler = createHandler(container, () => {
      currentScope();
      return hello();
    });
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_NO_SCOPE' });
  });
});

describe('a failure', () => {
  test('becomes the response of onError', async () => {
    const { container } = new App();
    const handler = createHandler(container, (): Promise<Response> => Promise.reject(new Error('secret')), {
      onError: errorResponse,
    });
    const response = await handler(get());
    expect([response.status, await response.text()]).toEqual([500, '{"error":"Internal error"}']);
  });

  test('that is the client’s own has its status and message in errorResponse()', async () => {
    const response = errorResponse(Object.assign(new Error('no such user'), { status: 404 }));
    expect([response.status, await response.text()]).toEqual([404, '{"error":"no such user"}']);
    expect(errorResponse({ status: 404, statusCode: 418 }).status).toBe(418);
  });

  test.for([new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'Lost'), { status: 503 }])(
    'that may have been stored has no Retry-After in errorResponse()',
    (error) => {
      const { status, headers } = errorResponse(error);
      expect([status, headers.get('retry-after')]).toEqual([503, null]);
    },
  );

  test('that is temporary is 503 with Retry-After in errorResponse()', async () => {
    const response = errorResponse(new HttpError('AMBIT_HTTP_OVERLOADED'));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toEqual({ error: 'Try again later', code: 'AMBIT_HTTP_OVERLOADED' });
  });

  test('of a disposer is reported, and the response stands', async () => {
    const { container } = new App();
    const reported: unknown[] = [];
    const handler = createHandler(
      container,
      (_request, own) => {
        own.defer?.(() => {
          throw new Error('it failed');
        });
        return hello();
      },
      { onDisposeError: (error, { url }) => void reported.push(error, url) },
    );
    expect(await (await handler(get())).text()).toBe('hello');
    await settled();
    expect(reported).toMatchObject([{ errors: [{ message: 'it failed' }] }, 'http://localhost/']);
  });

  test.for([
    {
      name: 'throws',
      onDisposeError: () => {
        throw new Error('reporter');
      },
    },
    { name: 'rejects', onDisposeError: () => Promise.reject(new Error('reporter')) },
  ])('of a reporter that $name is printed', async ({ onDisposeError }) => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { container } = new App();
    const handler = createHandler(
      container,
      (_request, own) => {
        own.defer?.(() => Promise.reject(new Error('disposer')));
        return hello();
      },
      { onDisposeError },
    );
    await handler(get());
    await settled();
    expect(print.mock.calls).toMatchObject([[{ errors: [{ message: 'disposer' }] }], [{ message: 'reporter' }]]);
    print.mockRestore();
  });
});

describe('with maxRequests in progress', () => {
  test('a further request is refused at the cost of no scope, and an essential one is not', async () => {
    const app = new App();
    const body = new SlowBody();
    const handler = createHandler(
      app.container,
      ({ url }) => new Response(url.endsWith('/live') ? 'live' : body.stream),
      {
        maxRequests: 1,
        isEssential: ({ url }) => url.endsWith('/live'),
      },
    );
    const first = await handler(get());
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_HTTP_OVERLOADED', status: 503 });
    expect(app.open).toBe(1);
    await handler(new Request('http://localhost/live'));
    body.end();
    await first.text();
    await handler.drain();
    expect(handler.openRequests).toBe(0);
  });
});

describe('an invalid argument is refused', () => {
  test.for<[string, () => unknown]>([
    ['no container', () => createHandler(undefined as unknown as IContainer, hello)],
    ['no handler', () => createHandler(new Container(), undefined as unknown as typeof hello)],
    ['maxRequests: 0', () => createHandler(new Container(), hello, { maxRequests: 0 })],
    ['tags: request', () => createHandler(new Container(), hello, { tags: 'request' as unknown as string[] })],
    ['start: 1', () => createHandler(new Container(), hello, { start: 1 as unknown as boolean })],
    ['register: null', () => createHandler(new Container(), hello, { register: null as unknown as () => void })],
  ])('%s', ([, make]) => {
    expect(make).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
  });
});
