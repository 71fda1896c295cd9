import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable } from 'node:stream';
import { HttpError } from '@ambit/http/host';
import { describe, expect } from 'vitest';
import { Pause, refused, requestText } from '../../tools.js';
import type { Call, Reply } from '../host.js';
import { type Stage, ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

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

async function* halves(work: Pause): AsyncGenerator<string> {
  yield 'first half';
  await work.here();
  yield ', second half';
}

/** More requests than a host takes on at a time. */
export function floodContract(test: StageTest): void {
  describe('of the requests that a client pipelines', () => {
    test('16 run at once, in their own asynchronous contexts, and are responded to in order', async ({ stage }) => {
      const ids = Array.from({ length: 16 }, (_, id) => id);
      const context = new AsyncLocalStorage<number>();
      const work = new Pause();
      const running = new Set<number | undefined>();
      let arrived = -1;
      await stage.serve(
        ids.map((id) => ({
          method: 'GET',
          path: `/${id}`,
          handle: async () => {
            running.add(context.getStore());
            if (running.size === ids.length) work.letGo();
            await work.here();
            return { kind: 'text', text: `${id} in ${context.getStore()}` };
          },
        })),
        { before: (_req, next) => context.run((arrived += 1), next) },
      );
      const client = await stage.sends(...ids.map((id) => ({ path: `/${id}` })));
      for (const id of ids) {
        const response = await client.response();
        expect(response.text).toBe(`${id} in ${id}`);
        expect(response.headers['connection']).not.toBe('close');
      }
      expect((await client.request({ path: '/0' })).status).toBe(200);
    });

    test('the ones beyond maxRequestsPerConnection get no scope: the connection closes behind those before them', async ({
      stage,
    }) => {
      const work = new Pause();
      const running = await serveCounting(stage, { maxRequestsPerConnection: 4 }, work.here);
      const client = await stage.sends(...Array.from({ length: 100 }, (_, id) => post(id, 'x'.repeat(id))));
      await stage.happenings.until(() => running.now === 4, '4 are in progress');
      await stage.get('/live');
      work.letGo();
      for (let id = 0; id < 4; id += 1) {
        const { status, headers, text } = await client.response();
        expect([status, JSON.parse(text)]).toMatchObject([200, { id }]);
        expect(headers['connection'] === 'close').toBe(id === 3);
      }
      await client.closed();
      expect(client.unread).toBe('');
      await stage.quiet();
      expect(running).toMatchObject({ most: 4, total: 4 });
      // One for the probe.
      expect(stage.scopes.count('request')).toBe(5);
    });

    test('one that comes behind a response in progress gets no scope either, and the response is whole', async ({
      stage,
    }) => {
      const work = new Pause();
      let begun = 0;
      await stage.serveRequest(
        () => {
          begun += 1;
          return { kind: 'stream', stream: Readable.from(halves(work)) };
        },
        { limits: { maxRequestsPerConnection: 1 } },
      );
      const client = await stage.sends({ path: '/' });
      await client.hears('first half');
      client.send({ path: '/' }, { path: '/' });
      await stage.get('/nowhere');
      work.letGo();
      expect((await client.response()).text).toBe('first half, second half');
      await client.closed();
      expect([client.unread, begun]).toEqual(['', 1]);
    });

    test('a client that reads late has whole responses to as many as the limit allows', async ({ stage }) => {
      const text = 'x'.repeat(12_000_000);
      await stage.serveRequest(() => ({ kind: 'text', text }), { limits: { maxRequestsPerConnection: 4 } });
      const client = await stage.client();
      client.stopReading();
      for (let times = 0; times < 4; times += 1) {
        client.send(...Array.from({ length: 2 + 100 * times }, () => ({ path: '/' })));
        await stage.get('/nowhere');
      }
      client.readOn();
      for (let times = 0; times < 4; times += 1) expect((await client.response()).text).toBe(text);
      await client.closed();
      expect(client.unread).toBe('');
    });

    test.for(['CONNECT test:443 HTTP/1.1\r\nhost: test\r\n\r\n', 'HELLO\r\n\r\n', ''])(
      'the response before them is whole, whatever comes behind them: %j',
      async (behind, { stage }) => {
        const parts = Array.from({ length: 120 }, () => 'x'.repeat(100_000));
        await stage.serveRequest(() => ({ kind: 'stream', stream: Readable.from(parts) }), {
          limits: { maxRequestsPerConnection: 1 },
        });
        const client = await stage.client();
        client.stopReading();
        client.write(requestText({ path: '/' }).repeat(3) + behind);
        await stage.get('/nowhere');
        client.readOn();
        expect((await client.response()).text).toHaveLength(12_000_000);
        await client.closed();
        expect(client.unread).toBe('');
      },
    );

    test('any number gets its responses while no more than maxRequestsPerConnection wait for theirs', async ({
      stage,
    }) => {
      const running = await serveCounting(stage, { maxRequestsPerConnection: 4 }, () => new Promise(setImmediate));
      const client = await stage.sends(post(0), post(1), post(2), post(3));
      for (let id = 0; id < 200; id += 1) {
        expect(JSON.parse((await client.response()).text)).toMatchObject({ id });
        client.send(post(id + 4));
      }
      expect(running.most).toBeLessThanOrEqual(4);
    });

    test('those that overtake others in a middleware are responded to in order, whatever the limit', async ({
      stage,
    }) => {
      const ids = Array.from({ length: 12 }, (_, id) => id);
      const arrived: (() => void)[] = [];
      await stage.serve(
        ids.map((id) => ({ method: 'GET', path: `/${id}`, handle: () => ({ kind: 'text', text: `<${id}>` }) })),
        {
          limits: { maxRequestsPerConnection: 2 },
          // The last to arrive goes on first.
          before: (_req, next) => {
            arrived.push(next);
            if (arrived.length === ids.length) for (const goOn of arrived.splice(0).toReversed()) setImmediate(goOn);
          },
        },
      );
      const client = await stage.sends(...ids.map((id) => ({ path: `/${id}` })));
      for (const id of ids) expect((await client.response()).text).toBe(`<${id}>`);
      await client.closed();
      expect(client.unread).toBe('');
    });

    test('those that wait for a response when the server closes get it, and those beyond the limit do not', async ({
      stage,
    }) => {
      const work = new Pause();
      const running = await serveCounting(stage, { maxRequestsPerConnection: 2 }, work.here);
      const client = await stage.sends(post(0), post(1));
      await stage.happenings.until(() => running.now === 2, '2 are in progress');
      const closed = stage.close();
      client.send(post(2), post(3));
      await refused(stage.port);
      work.letGo();
      for (let id = 0; id < 2; id += 1) expect(JSON.parse((await client.response()).text)).toMatchObject({ id });
      await Promise.all([client.closed(), closed]);
      expect(running.total).toBe(2);
    });

    test('none is begun twice or left open when the client disconnects', async ({ stage }) => {
      const running = await serveCounting(stage, { maxRequestsPerConnection: 2 }, () => new Promise(() => undefined));
      const client = await stage.sends(...Array.from({ length: 10 }, (_, id) => post(id)));
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
        await stage.serveOrder(stage.orderThen(work.here), { limits: { maxRequestsPerConnection: 1 } });
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
  });

  describe('with maxRequests in progress', () => {
    const limits = { maxRequests: 3, isEssential: ({ url }: { url?: string }) => url === '/live' };

    test('a further one is refused with 503 and Retry-After, at the cost of no scope', async ({ stage }) => {
      const work = new Pause();
      const running = await serveCounting(stage, limits, work.here);
      const clients = await Promise.all([1, 2, 3].map(() => stage.client()));
      for (const client of clients) client.send(post(0));
      await stage.happenings.until(() => running.now === 3, '3 are in progress');
      const another = await stage.client();
      expect(await another.request(post(4))).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_HTTP_OVERLOADED' }]);
      expect(stage.errors[0]).toBeInstanceOf(HttpError);
      expect(stage.scopes.count('request')).toBe(3);
      expect((await stage.get('/live')).status).toBe(200);
      work.letGo();
      for (const client of clients) expect((await client.response()).status).toBe(200);
      await stage.quiet();
      expect((await another.request(post(4))).status).toBe(200);
    });

    test('those of clients that have disconnected do not count', async ({ stage }) => {
      const running = await serveCounting(stage, limits, () => new Promise(() => undefined));
      for (let round = 1; round < 4; round += 1) {
        const client = await stage.sends(post(0), post(1), post(2));
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
