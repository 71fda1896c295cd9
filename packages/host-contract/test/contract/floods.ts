import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { HttpError } from '@ambit/http/host';
import { describe, expect } from 'vitest';
import { Pause, requestText } from '../../src/index.js';
import type { Call, Reply } from '../hosts/host.js';
import { type Stage, CREATED, ORDER } from '../support/stage.js';
import type { StageTest } from '../support/stage-test.js';

/** Serves `POST /` and counts how many handlers run at a time. */
async function serveCounting(stage: Stage, limits: object, work: (call: Call) => Promise<void>) {
  const running = { now: 0, most: 0, total: 0 };
  const handle = async (call: Call): Promise<Reply> => {
    running.now += 1;
    running.total += 1;
    running.most = Math.max(running.most, running.now);
    stage.happenings.tell();
    await work(call);
    running.now -= 1;
    return { kind: 'json', body: call.body };
  };
  await stage.serve(
    [
      { method: 'POST', path: '/', handle },
      { method: 'GET', path: '/live', handle: () => ({ kind: 'text', text: 'live' }) },
    ],
    { limits },
  );
  return running;
}

const post = (id: number, text = '') => ({ method: 'POST', path: '/', body: { id, text } });

/** More requests than a host takes on at a time. */
export function floodContract(test: StageTest): void {
  describe('of the requests that a client pipelines', () => {
    test('no more than maxRequestsPerConnection are in progress, and all are responded to in order', async ({
      stage,
    }) => {
      const running = await serveCounting(stage, { maxRequestsPerConnection: 4 }, () =>
        stage.happenings.until(() => running.most >= 4, '4 are in progress'),
      );
      const client = await stage.client();
      client.send(...Array.from({ length: 100 }, (_, id) => post(id, 'x'.repeat(id))));
      for (let id = 0; id < 100; id += 1) expect(JSON.parse((await client.response()).text)).toMatchObject({ id });
      await stage.quiet();
      expect(running).toMatchObject({ most: 4, total: 100 });
    });

    test('the server reads no more than it can take on', async ({ stage }) => {
      const work = new Pause();
      const running = await serveCounting(stage, { maxRequestsPerConnection: 4 }, work.here);
      const client = await stage.client();
      const requests = Array.from({ length: 200 }, (_, id) => requestText(post(id, 'x'.repeat(800))));
      client.write(requests.join('') + requests[0]!.repeat(20_000));
      await stage.happenings.until(() => running.now === 4, '4 are in progress');
      await stage.get('/live');
      expect(client.unsent).toBeGreaterThan(1_000_000);
      expect(stage.scopes.open).toHaveLength(4);
      work.letGo();
      for (let id = 0; id < 200; id += 1) expect(JSON.parse((await client.response()).text)).toMatchObject({ id });
    });

    test('few more than maxRequestsPerConnection are parsed, though one chunk holds hundreds', async ({ stage }) => {
      let parsed = 0;
      const count = (message: unknown): void => {
        const { request } = message as { readonly request: IncomingMessage };
        if (request.headers['x-flood']) parsed += 1;
      };
      subscribe('http.server.request.start', count);
      try {
        const work = new Pause();
        const running = await serveCounting(stage, { maxRequestsPerConnection: 2 }, work.here);
        const client = await stage.client();
        client.send(...Array.from({ length: 300 }, (_, id) => ({ ...post(id), headers: { 'x-flood': 'yes' } })));
        await stage.happenings.until(() => running.now === 2, '2 are in progress');
        await stage.get('/live');
        expect(parsed).toBeGreaterThan(2);
        expect(parsed).toBeLessThan(25);
        work.letGo();
        for (let id = 0; id < 300; id += 1) expect(JSON.parse((await client.response()).text)).toMatchObject({ id });
        expect(parsed).toBe(300);
      } finally {
        unsubscribe('http.server.request.start', count);
      }
    });

    test('one that asks for an upgrade which nobody listens for is responded to, wherever the parser stops', async ({
      stage,
    }) => {
      await serveCounting(stage, { maxRequestsPerConnection: 2 }, () => new Promise(setImmediate));
      for (let last = 14; last < 22; last += 1) {
        const client = await stage.client();
        const upgrade = { connection: 'upgrade', upgrade: 'h2c' };
        client.send(...Array.from({ length: last }, (_, id) => post(id)));
        client.send({ path: '/live', headers: upgrade });
        for (let id = 0; id < last; id += 1) expect((await client.response()).status).toBe(200);
        expect((await client.response()).text).toBe('live');
        expect((await client.request(post(last))).status).toBe(200);
      }
    });

    test('32 of all clients that pipeline are in progress beside the first of each', async ({ stage }) => {
      const work = new Pause();
      const running = await serveCounting(stage, {}, work.here);
      const clients = await Promise.all(Array.from({ length: 8 }, () => stage.client()));
      const ids = Array.from({ length: 20 }, (_, id) => id);
      for (const client of clients) client.send(...ids.map((id) => post(id)));
      await stage.happenings.until(() => running.now === 8 + 32, 'as many are in progress as may be');
      await stage.get('/live');
      expect(running.now).toBe(8 + 32);
      clients.pop()?.reset();
      work.letGo();
      for (const client of clients)
        for (const id of ids) expect(JSON.parse((await client.response()).text)).toMatchObject({ id });
      await stage.quiet();
      expect(running.most).toBe(8 + 32);
    });

    test('a turn is not lost with a client that no longer needs it', async ({ stage }) => {
      const done = new Set<number>();
      const begun = new Set<number>();
      await serveCounting(stage, {}, async ({ body }) => {
        const { id } = body as { readonly id: number };
        begun.add(id);
        stage.happenings.tell();
        await stage.happenings.until(() => done.has(id), `${id} is done`);
      });
      const finish = (id: number): void => {
        done.add(id);
        stage.happenings.tell();
      };
      const begins = (id: number) => stage.happenings.until(() => begun.has(id), `${id} has begun`);
      const sends = async (first: number, count: number) => {
        const client = await stage.client();
        client.send(...Array.from({ length: count }, (_, index) => post(first + index)));
        await begins(first);
        return client;
      };
      for (const first of [0, 10, 20, 30]) {
        await sends(first, 9);
        await begins(first + 8);
      }
      const [one] = [await sends(100, 2), await sends(200, 2)];
      await stage.get('/live');
      finish(100);
      await one.response();
      await begins(101);
      expect(begun.has(201)).toBe(false);
      finish(0);
      await begins(201);
      for (const id of begun) finish(id);
    });

    test('none that waits is begun when the client disconnects first', async ({ stage }) => {
      const running = await serveCounting(stage, { maxRequestsPerConnection: 2 }, () => new Promise(() => undefined));
      const client = await stage.client();
      client.send(...Array.from({ length: 10 }, (_, id) => post(id)));
      await stage.happenings.until(() => running.now === 2, '2 are in progress');
      client.reset();
      await stage.quiet();
      await stage.get('/live');
      expect(running.total).toBe(2);
    });

    test.for([
      { bytes: 0, how: 'leave' },
      { bytes: 0, how: 'reset' },
      { bytes: 1_000_000, how: 'leave' },
      { bytes: 1_000_000, how: 'reset' },
    ] as const)(
      'a client that has sent $bytes bytes more is noticed when it goes away ($how), and its orders are rolled back',
      async ({ bytes, how }, { stage }) => {
        const work = new Pause();
        await stage.serveOrder(
          async (call) => {
            await stage.insertOrder(call);
            await work.here();
            return CREATED;
          },
          { limits: { maxRequestsPerConnection: 1 } },
        );
        const client = await stage.client();
        const more = requestText({ ...ORDER, body: { text: 'x'.repeat(800) } });
        client.write(requestText(ORDER).repeat(2) + more.repeat(bytes / more.length));
        await work.reached;
        await client.sent();
        client[how]();
        await stage.quiet();
        expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
        expect(await stage.stored()).toBe(false);
        work.letGo();
      },
    );

    test('those that wait for their turn do not count as in progress', async ({ stage }) => {
      const work = new Pause();
      await serveCounting(stage, { maxRequestsPerConnection: 1, maxRequests: 3 }, work.here);
      const client = await stage.client();
      client.send(...Array.from({ length: 50 }, (_, id) => post(id)));
      await work.reached;
      expect((await stage.get('/live')).status).toBe(200);
      work.letGo();
      for (let id = 0; id < 50; id += 1) expect((await client.response()).status).toBe(200);
    });

    test('each waits its turn, whether its body has arrived or not', async ({ stage }) => {
      const work = new Pause();
      await serveCounting(stage, { maxRequestsPerConnection: 1 }, work.here);
      const client = await stage.client();
      const last = requestText(post(2, 'x'.repeat(500)));
      client.write(requestText(post(0)) + requestText(post(1)) + last.slice(0, -400));
      await work.reached;
      client.write(last.slice(-400));
      work.letGo();
      for (let id = 0; id < 3; id += 1) expect(JSON.parse((await client.response()).text)).toMatchObject({ id });
    });

    test('those that wait are responded to, too, when the server closes or garbage follows', async ({ stage }) => {
      const work = new Pause();
      await serveCounting(stage, { maxRequestsPerConnection: 1 }, work.here);
      const [client, other] = [await stage.client(), await stage.client()];
      client.send(post(0), post(1), post(2));
      other.write(`${[0, 1, 2].map((id) => requestText(post(id))).join('')}HELLO\r\n\r\n`);
      await stage.scopes.opens('request', 2);
      await stage.get('/live');
      const closed = stage.close();
      work.letGo();
      for (const each of [client, other]) {
        for (let id = 0; id < 3; id += 1) expect(JSON.parse((await each.response()).text)).toMatchObject({ id });
        await each.closed();
      }
      await closed;
    });
  });

  describe('with maxRequests in progress', () => {
    const limits = { maxRequests: 3, isEssential: ({ url }: { url?: string }) => url === '/live' };

    test('a further one is refused with 503 and Retry-After, at the cost of no scope', async ({ stage }) => {
      const work = new Pause();
      const running = await serveCounting(stage, limits, work.here);
      const clients = await Promise.all([1, 2, 3].map(() => stage.client()));
      for (const client of clients) client.send(post(0));
      await stage.happenings.until(() => running.now === 3, '3 are in progress');
      const refused = await stage.client();
      expect(await refused.request(post(4))).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_HTTP_OVERLOADED' }]);
      expect(stage.errors[0]).toBeInstanceOf(HttpError);
      expect(stage.scopes.count('request')).toBe(3);
      expect((await stage.get('/live')).status).toBe(200);
      work.letGo();
      for (const client of clients) expect((await client.response()).status).toBe(200);
      await stage.quiet();
      expect((await refused.request(post(4))).status).toBe(200);
    });

    test('those of clients that have disconnected do not count', async ({ stage }) => {
      const running = await serveCounting(stage, limits, () => new Promise(() => undefined));
      for (let round = 1; round < 4; round += 1) {
        const client = await stage.client();
        client.send(post(0), post(1), post(2));
        await stage.happenings.until(() => running.total === 3 * round, 'all are in progress');
        client.reset();
        await stage.quiet();
      }
    });
  });

  test.for([
    { maxRequests: 0 },
    { maxRequestsPerConnection: 0 },
    { maxRequests: 1.5 },
    { maxRequestsPerConnection: Number.NaN },
  ])('an application with %j is refused', async (limits, { stage }) => {
    await expect(stage.serveRequest(() => undefined, { limits })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });
}
