import { Container, currentScope, type IContainer, lifetimes } from '@ambit/container';
import { TransactionError } from '@ambit/transaction';
import { FakePool } from '@ambit/transaction/testing';
import { describe, expect, test, vi } from 'vitest';
import { openScopes } from '@ambit/container/tools';
import { createHandler, errorResponse, HttpError, problemResponse } from '../src/index.js';
import { App, get, settled, SlowBody } from './support/app.js';

const hello = (): Response => new Response('hello');

describe('a request', () => {
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

  test.for(['application', 'request'] as const)('in a Worker meets a pool of the %s', async (lifetime) => {
    const { make, build } = lifetimes('application', 'request');
    const { registrations } = build({ IDatabasePool: make(lifetime, () => new FakePool()) });
    const handler = createHandler(new Container({ tags: ['application'] }).addRegistration(...registrations), hello);
    const context = { waitUntil: () => undefined, passThroughOnException: () => undefined };
    const responses = Promise.all([handler(get(), context), handler(get(), context)]);
    if (lifetime === 'request') expect(await responses).toHaveLength(2);
    else await expect(responses).rejects.toThrow("IDatabasePool: make('request', () => createPostgresPool(");
    expect(handler.openRequests).toBe(0);
  });

  test('whose handler returns nothing, as for an upgraded connection, gives nothing to the host', async () => {
    const app = new App();
    const handler = createHandler(app.container, () => undefined);
    expect(await handler(get())).toBe(undefined);
    expect(app.open).toBe(0);
  });
});

describe('before the handler', () => {
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

  test.for([
    [new Error('secret'), 500, { detail: 'Internal error' }, null],
    [Object.assign(new Error('no such user'), { status: 404 }), 404, { detail: 'no such user' }, null],
    [new HttpError('AMBIT_HTTP_OVERLOADED'), 503, { detail: 'Try again later', code: 'AMBIT_HTTP_OVERLOADED' }, '1'],
  ] as const)('has problem details: %s', async ([error, status, body, retryAfter]) => {
    const response = problemResponse(error);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('retry-after')).toBe(retryAfter);
    expect(await response.json()).toEqual({ type: 'about:blank', status, ...body });
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

function streaming() {
  const app = new App();
  const body = new SlowBody();
  return { app, body, handler: createHandler(app.container, () => new Response(body.stream)) };
}

describe('drain()', () => {
  test('resolves at once where no request is open', async () => {
    const handler = createHandler(new App().container, () => new Response('hello'));
    await expect(handler.drain()).resolves.toBe(undefined);
  });

  test('waits until every response has been read and every scope is disposed', async () => {
    const { app, body, handler } = streaming();
    let disposed = (): void => undefined;
    const response = await handler(get());
    openScopes(app.container)[0]?.defer(() => new Promise<void>((resolve) => (disposed = resolve)));
    let isDrained = false;
    const draining = handler.drain().then(() => (isDrained = true));
    body.end();
    await response.text();
    await settled();
    expect([isDrained, handler.openRequests]).toEqual([false, 1]);
    disposed();
    await draining;
    expect([handler.openRequests, app.open]).toEqual([0, 0]);
  });

  test('rejects with a code after its time limit, and says how many requests are open', async () => {
    const { handler, body } = streaming();
    const response = await handler(get());
    await expect(handler.drain({ timeoutMs: 1 })).rejects.toMatchObject({
      code: 'AMBIT_HTTP_DISPOSE_TIMEOUT',
      message: expect.stringContaining('1 are open after 1 ms') as string,
    });
    body.end();
    await response.text();
    await handler.drain({ timeoutMs: Infinity });
  });

  test('refuses an invalid time limit', async () => {
    const { handler } = streaming();
    await expect(handler.drain({ timeoutMs: -1 })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });
});
