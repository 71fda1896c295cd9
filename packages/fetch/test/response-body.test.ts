import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createHandler } from '../src/index.js';
import { App, get, settled, SlowBody } from './support/app.js';

/** Bun gives a text in many chunks, so what is longer than one MiB is a stream to it. */
const LONG_TEXT = 'x'.repeat('Bun' in globalThis ? 1_000_000 : 5_000_000);

/** Serves the response, and tells how many scopes are open when it is returned. */
async function respond(response: () => Response | Promise<Response>, init: RequestInit = {}) {
  const app = new App();
  const handler = createHandler(app.container, (_request, own) => {
    own.resolve('IResource');
    return response();
  });
  const returned = await handler(get(init));
  return { app, returned, open: app.open };
}

describe('a scope is disposed when the response is returned', () => {
  test.for<[string, () => Response | Promise<Response>, string]>([
    ['text', () => new Response('hello'), 'hello'],
    ['JSON', () => Response.json({ a: 1 }), '{"a":1}'],
    ['bytes', () => new Response(new Uint8Array([104, 105])), 'hi'],
    ['an empty text', () => new Response(''), ''],
    ['a long text', () => new Response(LONG_TEXT), LONG_TEXT],
    ['a form', () => new Response(new URLSearchParams({ a: '1' })), 'a=1'],
    ['a redirect', () => Response.redirect('http://localhost/elsewhere', 302), ''],
    ['204', () => new Response(null, { status: 204 }), ''],
    ['304', () => new Response(null, { status: 304 }), ''],
  ])('of %s', async ([, response, text]) => {
    const { returned, open, app } = await respond(response);
    expect(open).toBe(0);
    expect(await returned.text()).toBe(text);
    expect(app.disposed).toEqual(['resource']);
  });
});

describe('what a handler says of its response reaches the host', () => {
  test('status, reason and headers, several cookies among them', async () => {
    const headers = new Headers({ 'x-request-id': '7' });
    headers.append('set-cookie', 'a=1');
    headers.append('set-cookie', 'b=2');
    const body = new SlowBody();
    const { returned } = await respond(() => new Response(body.stream, { status: 201, statusText: 'Made', headers }));
    expect([returned.status, returned.statusText]).toEqual([201, 'Made']);
    expect(returned.headers.get('x-request-id')).toBe('7');
    expect(returned.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  test('the content type of text and JSON', async () => {
    const { returned } = await respond(() => Response.json({ a: 1 }));
    expect(returned.headers.get('content-type')).toMatch(/^application\/json/);
  });

  test('the response of another server, whose headers are immutable', async () => {
    const upstream = createServer((_req, res) => res.setHeader('x-from', 'upstream').end('hello')).listen(
      0,
      '127.0.0.1',
    );
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo;
    const { app, returned } = await respond(() => fetch(`http://127.0.0.1:${port}/`));
    expect([returned.headers.get('x-from'), await returned.text()]).toEqual(['upstream', 'hello']);
    expect(app.open).toBe(0);
    upstream.close();
  });

  test('Response.error() as it is', async () => {
    const { returned, open } = await respond(() => Response.error());
    expect([returned.type, open]).toEqual(['error', 0]);
  });
});

describe('the scope of a response that streams', () => {
  test('is open, and the rest of the stream is read only as the client reads', async () => {
    const [chunk, chunks] = [512 * 1024, 64];
    let pulled = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      if (pulled === chunk * chunks) return controller.close();
      controller.enqueue(new Uint8Array(chunk).fill(pulled / chunk));
      pulled += chunk;
    };
    const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
    const { returned, open } = await respond(() => new Response(stream));
    expect(open).toBe(1);
    expect(pulled).toBeLessThan(2 * 1024 * 1024);
    const whole = new Uint8Array(await returned.arrayBuffer());
    expect(whole.length).toBe(chunk * chunks);
    expect(Array.from({ length: chunks }, (_, at) => whole[at * chunk])).toEqual([...Array(chunks).keys()]);
  });

  test('is disposed when the host cancels the body, and so is the source', async () => {
    const body = new SlowBody();
    const { app, returned } = await respond(() => new Response(body.stream));
    await returned.body?.cancel('no reader');
    expect(body.cancelledFor).toBe('no reader');
    expect(app.disposed).toEqual(['resource']);
  });

  test('is disposed when the source has failed before anybody reads', async () => {
    const body = new SlowBody();
    body.fail(new Error('the source broke'));
    const { app, returned } = await respond(() => new Response(body.stream));
    await expect(returned.text()).rejects.toThrow('the source broke');
    expect(app.disposed).toEqual(['resource']);
  });

  test('is disposed at once for HEAD, and the source is cancelled', async () => {
    const body = new SlowBody();
    const { app, returned } = await respond(() => new Response(body.stream, { headers: { 'x-a': 'b' } }), {
      method: 'HEAD',
    });
    expect([returned.body, returned.headers.get('x-a')]).toEqual([null, 'b']);
    expect(app.disposed).toEqual(['resource']);
    expect(body.isCancelled).toBe(true);
  });
});

describe('a client that leaves', () => {
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
