import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { Pause, requestText } from '../../tools.js';
import { CREATED, ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

const CONNECTION_CLOSE = { connection: 'close' };
const CHUNKED =
  'POST /orders HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';

/** Input that Node's parser refuses behind a request, or hands to nobody. */
const BEHIND = [
  { name: 'garbage', headers: {}, behind: 'HELLO\r\n\r\n' },
  { name: 'a broken request line', headers: {}, behind: 'GET /\0 HTTP/1.1\r\nhost: test\r\n\r\n' },
  { name: 'a head that is too large', headers: {}, behind: `GET / HTTP/1.1\r\nx: ${'x'.repeat(50_000)}\r\n\r\n` },
  { name: 'a request with a broken body', headers: {}, behind: `${CHUNKED}nonsense\r\n` },
  { name: 'CONNECT', headers: {}, behind: 'CONNECT test:443 HTTP/1.1\r\nhost: test\r\n\r\n' },
  { name: 'a request behind Connection: close', headers: CONNECTION_CLOSE, behind: requestText({ path: '/ping' }) },
];

/** A request that arrived complete gets its true response, whatever the client sends behind it. */
export function refusedInputContract(test: StageTest): void {
  describe('a client that expects 100 Continue', () => {
    const expecting = (path: string, size: number): string =>
      requestText({ method: 'POST', path, headers: { expect: '100-continue', 'content-length': String(size) } });
    const CONTENT = '{"items":[]}';

    test('gets it when its body is read, and then its response', async ({ stage }) => {
      await stage.serveOrder(stage.createOrder);
      const client = await stage.client();
      for (const id of [stage.orderId, crypto.randomUUID()]) {
        Object.assign(stage, { orderId: id });
        client.write(expecting('/orders', CONTENT.length).replace('host:', 'content-type: application/json\r\nhost:'));
        await client.hears('HTTP/1.1 100 Continue');
        client.write(CONTENT);
        expect((await client.response()).status).toBe(100);
        const response = await client.response();
        expect(response.status).toBe(201);
        expect(response.headers['connection']).not.toBe('close');
        expect(await stage.stored()).toBe(true);
      }
    });

    test('gets the refusal alone where nobody reads its body, and then the connection closes', async ({ stage }) => {
      const work = new Pause();
      await stage.serveOrder(() => work.here(), { limits: { maxRequests: 1 } });
      const [working, client] = await Promise.all([stage.client(), stage.client()]);
      working.send(ORDER);
      await work.reached;
      client.write(expecting('/orders', 12));
      expect(await client.response()).toMatchObject({ status: 503, headers: { connection: 'close' } });
      await client.closed();
      expect(client.unread).toBe('');
      working.leave();
      work.letGo();
    });
  });

  describe.each(BEHIND)('a complete request followed by $name', ({ headers, behind }) => {
    test('is carried out and responded to, and then the connection closes', async ({ stage }) => {
      await stage.serveOrder(stage.createOrder);
      const client = await stage.client();
      client.write(requestText({ ...ORDER, headers }) + behind);
      expect(await client.response()).toMatchObject({ status: 201, headers: { connection: 'close' } });
      await client.closed();
      expect(client.unread).toBe('');
      expect(await stage.stored()).toBe(true);
    });

    test('is responded to when that comes while it is carried out', async ({ stage }) => {
      const work = new Pause();
      await stage.serveOrder(stage.orderThen(work.here));
      const client = await stage.client();
      client.write(requestText({ ...ORDER, headers }));
      await work.reached;
      client.write(behind);
      client.write('and more of it\r\n\r\n');
      await stage.get('/ping');
      work.letGo();
      expect(await client.response()).toMatchObject({ status: 201 });
      await client.closed();
      expect(client.unread).toBe('');
      expect(await stage.stored()).toBe(true);
    });

    test('is rolled back when its client then leaves', async ({ stage }) => {
      await stage.serveOrder(stage.orderThen(() => new Promise(() => undefined)));
      const client = await stage.client();
      client.write(requestText({ ...ORDER, headers }) + behind);
      await stage.pool.reaches('query');
      client.leave();
      await stage.quiet();
      expect(stage.pool.steps).toContain('rollback');
      expect(await stage.stored()).toBe(false);
    });

    test('has all of a long response', async ({ stage }) => {
      const chunks = Array.from({ length: 30 }, () => 'x'.repeat(100_000));
      await stage.serveRequest(() => ({ kind: 'stream', stream: Readable.from(chunks) }));
      const client = await stage.client();
      client.write(requestText({ path: '/', headers }) + behind);
      expect((await client.response()).text).toHaveLength(3_000_000);
      await client.closed();
    });
  });

  describe('garbage', () => {
    test('behind several complete requests leaves each of them its response', async ({ stage }) => {
      await stage.serveOrder(stage.createOwnOrder);
      const client = await stage.client();
      const ids: string[] = Array.from({ length: 3 }, () => crypto.randomUUID());
      client.write(`${ids.map((id) => requestText({ ...ORDER, body: { id } })).join('')}HELLO\r\n\r\n`);
      for (const id of ids) expect(JSON.parse((await client.response()).text)).toEqual({ id });
      await client.closed();
      for (const id of ids) expect(await stage.stored(id)).toBe(true);
    });

    test('in the body of a request rolls back that one, and not the complete one before it', async ({ stage }) => {
      const work = new Pause();
      await stage.serve([
        {
          method: 'GET',
          path: '/',
          handle: async () => {
            await work.here();
            return { kind: 'text', text: 'hello' };
          },
        },
        { method: 'POST', path: '/orders', transaction: {}, handle: () => CREATED },
      ]);
      const client = await stage.client();
      client.write(`${requestText({ path: '/' })}${CHUNKED}5\r\n{"a":\r\n`);
      await stage.scopes.opens('request', 2);
      client.write('nonsense\r\n');
      await stage.scopes.until(1);
      work.letGo();
      expect((await client.response()).text).toBe('hello');
      await client.closed();
      expect(stage.pool.steps).toEqual([]);
    });

    test('in the body of a request whose response has begun cuts the response: nothing is written into it', async ({
      stage,
    }) => {
      const onStart = (message: unknown): void => {
        const { response, server } = message as { response: ServerResponse; server: Server };
        // Applications do this, which do not know about the response in progress.
        server.on('clientError', (_error, socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
        setImmediate(() => response.writeHead(200, { 'transfer-encoding': 'chunked' }).write('first part'));
      };
      subscribe('http.server.request.start', onStart);
      try {
        await stage.serveOrder(() => CREATED);
        const client = await stage.client();
        client.write(`${CHUNKED}5\r\n{"a":\r\n`);
        await client.hears('first part');
        client.write('nonsense\r\n');
        await client.closed();
        expect(client.unread).toMatch(/first part\r\n$/);
      } finally {
        unsubscribe('http.server.request.start', onStart);
      }
    });

    test('alone is responded to with 400, and nothing is carried out', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
      const client = await stage.client();
      client.write('HELLO\r\n\r\n');
      expect((await client.response()).status).toBe(400);
      await client.closed();
      expect(stage.scopes.count('request')).toBe(0);
    });
  });
}
