import { describe, expect } from 'vitest';
import { Pause, requestText } from '../../tools.js';
import { BODY_LIMIT, type Route } from '../host.js';
import { CREATED, ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

/** Clients that send nonsense, or go away; on routes without a transaction. */
export function clientContract(test: StageTest): void {
  describe('a body that is', () => {
    const json = { 'content-type': 'application/json' };
    test.for([
      { name: 'no JSON', body: '{"a":', headers: json, status: 400 },
      { name: 'too large', body: JSON.stringify({ a: 'x'.repeat(BODY_LIMIT) }), headers: json, status: 413 },
    ])('$name never costs a scope or a connection', async ({ body, headers, status }, { stage }) => {
      await stage.serveOrder(stage.createOrder);
      const response = await stage.request({ ...ORDER, body, headers });
      expect(response.status).toBe(status);
      expect(stage.pool.steps).toEqual([]);
      await stage.quiet();
    });
  });

  describe('a client that goes away', () => {
    const ways = [
      { how: 'politely', go: 'leave' },
      { how: 'with a reset', go: 'reset' },
    ] as const;
    const never = new Promise<void>(() => undefined);
    const post: Pick<Route, 'method' | 'path'> = { method: 'POST', path: '/' };

    test.for(ways)('$how in the middle of its body leaves nothing open', async ({ go }, { stage }) => {
      await stage.serve([{ ...post, handle: () => CREATED }]);
      const client = await stage.client();
      client.write(
        'POST / HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":',
      );
      await stage.scopes.opens('request');
      client[go]();
      await stage.quiet();
    });

    test.for(ways)('$how while the handler of a GET works leaves nothing open', async ({ go }, { stage }) => {
      await stage.serveRequest(() => never);
      const client = await stage.sends({ path: '/' });
      await stage.scopes.opens('request');
      client[go]();
      await stage.quiet();
    });

    test.for(ways)('$how while the handler of a POST works leaves nothing open', async ({ go }, { stage }) => {
      const work = new Pause();
      await stage.serve([{ ...post, handle: work.here }]);
      const client = await stage.sends({ ...post, body: { a: 1 } });
      await work.reached;
      client[go]();
      await stage.quiet();
    });

    test.for(ways)('$how while a large response is on its way leaves nothing open', async ({ go }, { stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'x'.repeat(12_000_000) }));
      const client = await stage.sends({ path: '/' });
      await client.hears('xxx');
      client[go]();
      await stage.quiet();
    });

    test.for(ways)('$how leaves no scope of the requests it has pipelined', async ({ go }, { stage }) => {
      await stage.serve([
        { ...post, handle: () => never },
        { method: 'GET', path: '/', handle: () => ({ kind: 'text', text: 'hello' }) },
      ]);
      const client = await stage.sends(
        { ...post, body: {} },
        { path: '/' },
        { ...post, body: {} },
        { path: '/' },
        { path: '/nowhere' },
      );
      await stage.scopes.opens('request', 5);
      client[go]();
      await stage.quiet();
    });

    test('after its response came leaves nothing open', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
      const client = await stage.client();
      await client.request({ path: '/' });
      client.reset();
      await stage.quiet();
    });

    test('while the response is being made is no error, and neither is the late response', async ({ stage }) => {
      const work = new Pause();
      await stage.serveRequest(async () => {
        await work.here();
        return { kind: 'json', body: { a: 1 } };
      });
      const client = await stage.sends({ path: '/' });
      await work.reached;
      client.leave();
      await stage.quiet();
      work.letGo();
      expect((await stage.request({ path: '/nowhere' })).status).toBe(404);
    });
  });

  test('pipelined requests are responded to in order, each from a scope of its own', async ({ stage }) => {
    await stage.serve([
      { method: 'POST', path: '/', handle: ({ body }) => ({ kind: 'json', body }) },
      { method: 'GET', path: '/', handle: () => ({ kind: 'text', text: 'hello' }) },
    ]);
    const client = await stage.client();
    client.write(
      [1, 2, 3].map((a) => requestText({ method: 'POST', path: '/', body: { a } })).join('') +
        requestText({ path: '/' }),
    );
    for (const expected of ['{"a":1}', '{"a":2}', '{"a":3}', 'hello']) {
      expect((await client.response()).text).toBe(expected);
    }
    await stage.quiet();
    expect(stage.scopes.count('request')).toBe(4);
  });

  test('a client that had disconnected before the host saw its request leaves no scope open', async ({ stage }) => {
    const { happenings } = stage;
    let hasArrived = false;
    await stage.serveRequest(() => ({ kind: 'text', text: 'too late' }), {
      before: (req, next) => {
        hasArrived = true;
        happenings.tell();
        req.socket.once('close', () => setImmediate(next));
      },
    });
    const client = await stage.sends({ path: '/' });
    await happenings.until(() => hasArrived, 'the request arrived');
    client.leave();
    await stage.scopes.opens('request');
    await stage.quiet();
    expect(stage.scopes.disposedTwice).toEqual([]);
  });

  test('a request that says HTTP/2 on a connection of HTTP/1 loses its scope with its client', async ({ stage }) => {
    await stage.serveRequest(() => new Promise(() => undefined));
    const client = await stage.client();
    client.write('GET / HTTP/2.0\r\nhost: test\r\n\r\n');
    await stage.scopes.opens('request');
    client.leave();
    await stage.quiet();
    expect(stage.scopes.open).toEqual([]);
  });
}
