import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect } from 'vitest';
import { msOf, Pause, RawClient, refused } from '../../tools.js';
import { ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

/** Well above what closing takes, well below the time-outs of keep-alive. */
const AT_ONCE_MS = 1500;
/** Below the 10 s after which connections are cut by force. */
const UNFORCED_MS = 9000;

/** A thread that sends a request on each of its connections, says so in `sent`, and reports the status lines or errors. */
const SEVERAL_CLIENTS = `
const { connect } = require('node:net');
const { parentPort, workerData: { port, clients, sent } } = require('node:worker_threads');
const sending = [], responses = [];
for (let i = 0; i < clients; i++) {
  const socket = connect(port, '127.0.0.1');
  sending.push(new Promise((resolve) => socket.write('GET / HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n', resolve)));
  responses.push(new Promise((resolve) => {
    socket.once('data', (data) => resolve(String(data).split('\\r\\n')[0])).once('error', (error) => resolve(error.code));
  }));
}
Promise.all(sending).then(() => {
  Atomics.store(sent, 0, 1);
  Atomics.notify(sent, 0);
});
Promise.all(responses).then((lines) => parentPort.postMessage(lines));`;

export function shutdownContract(test: StageTest): void {
  describe('closing', () => {
    test('does not wait for idle clients that keep their connection', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
      const clients = await Promise.all([stage.client(), stage.client(), stage.client()]);
      await clients[0].request({ path: '/' });
      await clients[1].request({ path: '/' });
      expect(await msOf(stage.close())).toBeLessThan(AT_ONCE_MS);
      for (const client of clients) await client.closed();
    });

    test.for(['G', 'GET / HTTP/1.1\r\nhost: a\r\nx-name: val'])(
      'waits a second at most for the rest of a head: %j',
      async (half, { stage }) => {
        await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
        const [fresh, used] = await Promise.all([stage.client(), stage.client()]);
        await used.request({ path: '/' });
        for (const client of [fresh, used]) client.write(half);
        await stage.get();
        expect(await msOf(stage.close())).toBeLessThan(UNFORCED_MS);
        for (const client of [fresh, used]) await client.closed();
      },
    );

    // Other runtimes accept and close by themselves.
    const isNode = !('bun' in process.versions || 'deno' in process.versions);
    test.runIf(isNode)(
      'responds to those who have connected and sent a request before, however busy the process was',
      async ({ stage }) => {
        await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
        const sent = new Int32Array(new SharedArrayBuffer(4));
        const others = new Worker(SEVERAL_CLIENTS, { eval: true, workerData: { port: stage.port, clients: 8, sent } });
        const responses = once(others, 'message');
        // This thread accepts and reads nothing meanwhile.
        expect(Atomics.wait(sent, 0, 0, 120_000)).not.toBe('timed-out');
        await stage.close();
        const [lines] = (await responses) as [string[]];
        // Fastify refuses by itself what comes while it closes, unless `return503OnClosing` is false.
        for (const line of lines) expect(line).toMatch(/^HTTP\/1.1 (?:200|503) /);
      },
    );

    test.for(['in its handler', 'in COMMIT'])(
      'responds to what has begun, %s, says `Connection: close`, and does not wait until that client leaves',
      async (where, { stage }) => {
        const work = new Pause();
        await stage.serveOrder(where === 'in COMMIT' ? stage.createOrder : stage.orderThen(work.here));
        if (where === 'in COMMIT') stage.pool.before('commit', work.here);
        const client = await stage.sends(ORDER);
        await work.reached;
        const closed = stage.close();
        await refused(stage.port);
        work.letGo();
        const response = await client.response();
        expect(await msOf(closed)).toBeLessThan(AT_ONCE_MS);
        expect(response).toMatchObject({ status: 201, headers: { connection: 'close' } });
        expect(await stage.stored()).toBe(true);
      },
    );

    test('responds to all of the pipelined requests that have begun, and the last says `Connection: close`', async ({
      stage,
    }) => {
      const work = new Pause();
      await stage.serveRequest(async () => {
        await work.here();
        return { kind: 'text', text: 'hello' };
      });
      const client = await stage.sends({ path: '/' }, { path: '/' }, { path: '/' });
      await work.reached;
      const closed = stage.close();
      await refused(stage.port);
      work.letGo();
      const connections: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        const { status, headers } = await client.response();
        expect(status).toBe(200);
        connections.push(headers['connection']);
      }
      expect(connections).toEqual(['keep-alive', 'keep-alive', 'close']);
      expect(await msOf(closed)).toBeLessThan(AT_ONCE_MS);
    });

    test('waits until a slow client has all of its response', async ({ stage }) => {
      const text = '.'.repeat(8_000_000);
      await stage.serveRequest(() => ({ kind: 'text', text }));
      const client = await stage.sends({ path: '/' });
      await client.hears('HTTP/1.1 200');
      client.stopReading();
      const closed = stage.close();
      await refused(stage.port);
      client.readOn();
      expect((await client.response()).text).toHaveLength(text.length);
      await closed;
    });

    test('disposes the application container when the last request is over', async ({ stage }) => {
      const work = new Pause();
      await stage.serveRequest(async ({ scope }) => {
        await work.here();
        return { kind: 'json', body: scope.resolve('IRequestContext') };
      });
      let ends = 0;
      stage.app.defer(() => (ends += 1));
      const client = await stage.sends({ path: '/' });
      await work.reached;
      const closed = stage.close();
      await refused(stage.port);
      expect(ends).toBe(0);
      work.letGo();
      expect((await client.response()).status).toBe(200);
      await closed;
      expect(ends).toBe(1);
      expect(stage.app.disposed).toBe(true);
    });

    test('refuses those who come too late', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
      await stage.get();
      const { port } = stage;
      await stage.close();
      await expect(RawClient.connect(port)).rejects.toThrow(/ECONNREFUSED/);
    });
  });
}
