import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect } from 'vitest';
import { Pause } from '../../src/index.js';
import type { StageTest } from '../support/stage-test.js';

/** Pipelined requests that wait for their turn on a connection. */
export function turnContract(test: StageTest): void {
  describe('a pipelined request that waited for its turn', () => {
    test('runs in its own asynchronous context', async ({ stage }) => {
      const context = new AsyncLocalStorage<number>();
      const seen: (number | undefined)[] = [];
      let arrived = 0;
      await stage.serveRequest(
        async () => {
          seen.push(context.getStore());
          return { kind: 'text', text: 'hello' };
        },
        {
          limits: { maxRequestsPerConnection: 1 },
          before: (_req, next) => context.run((arrived += 1), next),
        },
      );
      const client = await stage.client();
      client.send({ path: '/' }, { path: '/' }, { path: '/' });
      for (let i = 0; i < 3; i += 1) expect((await client.response()).status).toBe(200);
      expect(seen).toEqual([1, 2, 3]);
    });

    test('is responded to in order where others have overtaken it in a middleware', async ({ stage }) => {
      const count = 12;
      const arrived: (() => void)[] = [];
      const limits = { maxRequestsPerConnection: 2 };
      let inProgress = 0;
      let most = 0;
      const work = async (id: number) => {
        most = Math.max(most, (inProgress += 1));
        await new Promise(setImmediate);
        inProgress -= 1;
        return { kind: 'text', text: `<${id}>` } as const;
      };
      const ids = Array.from({ length: count }, (_, id) => id);
      await stage.serve(
        ids.map((id) => ({ method: 'GET', path: `/${id}`, handle: () => work(id) })),
        {
          limits,
          // The last to arrive goes on first.
          before: (_req, next) => {
            arrived.push(next);
            if (arrived.length === count) for (const goOn of arrived.splice(0).toReversed()) setImmediate(goOn);
          },
        },
      );
      const client = await stage.client();
      client.send(...ids.map((id) => ({ path: `/${id}` })));
      const texts: string[] = [];
      for (const _ of ids) texts.push((await client.response()).text);
      expect(texts).toEqual(ids.map((id) => `<${id}>`));
      // The one whose response is next is never made to wait.
      expect(most).toBeLessThanOrEqual(3);
    });

    test('is not kept waiting by those that have overtaken it and wait as well', async ({ stage }) => {
      const ids = [0, 1, 2, 3, 4];
      const overtaken = new Pause();
      let arrived = 0;
      await stage.serve(
        ids.map((id) => ({
          method: 'GET',
          path: `/${id}`,
          handle: async () => {
            if (id === 0) await overtaken.reached;
            return { kind: 'text', text: `<${id}>` };
          },
        })),
        {
          limits: { maxRequestsPerConnection: 1 },
          before: async (_req, next) => {
            arrived += 1;
            // The second goes on last, and is the next to leave when the first has been responded to.
            if (arrived === 2) {
              await stage.happenings.until(() => arrived === ids.length, 'all have arrived');
              setImmediate(() => void overtaken.here());
            } else stage.happenings.tell();
            next();
          },
        },
      );
      const client = await stage.client();
      client.send(...ids.map((id) => ({ path: `/${id}` })));
      const texts: string[] = [];
      for (const _ of ids) texts.push((await client.response()).text);
      expect(texts).toEqual(ids.map((id) => `<${id}>`));
    });
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
    const client = await stage.client();
    client.send({ path: '/' });
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
