import { describe, expect, test } from 'vitest';
import { createHandler } from '../src/index.js';
import { App, get, settled, SlowBody } from './support/app.js';

describe('a client that leaves', () => {
  test('while the handler works has its scope disposed at once, and IRequestSignal aborts', async () => {
    const app = new App();
    const client = new AbortController();
    let signal: AbortSignal | undefined;
    const handler = createHandler(app.container, async (_request, own) => {
      own.resolve('IResource');
      signal = own.resolve<AbortSignal>('IRequestSignal');
      expect(own.resolve('IRequestSignal')).toMatchObject({ aborted: false });
      client.abort();
      expect(app.disposed).toEqual(['resource']);
      return new Response('too late');
    });
    expect((await handler(get({ signal: client.signal }))).status).toBe(499);
    expect(signal?.reason).toMatchObject({ code: 'AMBIT_HTTP_CLIENT_DISCONNECTED' });
  });

  test('before its scope was opened costs none, and its handler never runs', async () => {
    const app = new App();
    let ran = false;
    const handler = createHandler(
      async () => {
        client.abort();
        return app.container;
      },
      () => {
        ran = true;
        return new Response('hello');
      },
    );
    const client = new AbortController();
    expect((await handler(get({ signal: client.signal }))).status).toBe(499);
    expect((await handler(get({ signal: AbortSignal.abort() }))).status).toBe(499);
    await settled();
    expect([ran, app.open, handler.openRequests]).toEqual([false, 0, 0]);
  });

  test('while the handler works keeps no host waiting for a handler that never returns, and calls no error handler', async () => {
    const app = new App();
    const client = new AbortController();
    const errors: unknown[] = [];
    const onError = (error: unknown): Response => {
      errors.push(error);
      return new Response(null, { status: 500 });
    };
    const never = (): Promise<Response> => {
      client.abort();
      return new Promise(() => undefined);
    };
    const handler = createHandler(app.container, never, { onError });
    expect((await handler(get({ signal: client.signal }))).status).toBe(499);
    await handler.drain();
    expect([app.open, errors]).toEqual([0, []]);
  });

  test('before the response is returned has the source of the late response cancelled', async () => {
    const app = new App();
    const client = new AbortController();
    const body = new SlowBody();
    const handler = createHandler(app.container, () => {
      client.abort();
      return new Response(body.stream);
    });
    expect((await handler(get({ signal: client.signal }))).status).toBe(499);
    await settled();
    expect(body.isCancelled).toBe(true);
  });

  test('in the middle of a stream has its source cancelled and its scope disposed, and the response does not look whole', async () => {
    const app = new App();
    const client = new AbortController();
    const body = new SlowBody();
    const handler = createHandler(app.container, (_request, own) => {
      own.resolve('IResource');
      return new Response(body.stream);
    });
    const response = await handler(get({ signal: client.signal }));
    const reading = response.text();
    body.next('first');
    await settled();
    client.abort();
    await expect(reading).rejects.toMatchObject({ code: 'AMBIT_HTTP_CLIENT_DISCONNECTED' });
    expect(body.cancelledFor).toMatchObject({ code: 'AMBIT_HTTP_CLIENT_DISCONNECTED' });
    expect(app.disposed).toEqual(['resource']);
  });
});
