import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { listen, outgoingCalls, subscribeAll } from '../src/channels.js';
import { Lateness } from '../src/loop.js';
import type { RequestListOptions, RequestRecord } from '../src/requests.js';
import { Store } from '../src/store.js';
import { createApp, openRequest, placeOrder } from './support/app.js';

const arrival = { method: 'GET', route: () => '/users', lost: () => false };

describe('the store', () => {
  let now: number;
  let current: RequestRecord | undefined;
  let app: Container;
  let store: Store;
  let stops: (() => void)[];

  const begin = (options: Partial<RequestListOptions> = {}): void => {
    const limits = { limitMs: 1000, samplesPerSecond: 50, keep: 300, keepTrouble: 1000, slowMs: 1000 };
    store = new Store(app, openScopes(app), { ...limits, now: () => now, current: () => current, ...options });
    stops.push(listen(store));
  };
  const request = (): Container => {
    current = store.arrive(arrival);
    return openRequest(app);
  };
  const complete = (record: RequestRecord, status?: number): void => store.complete(record, status);
  const stepsOf = (kind: string) => store.details(current!.id)!.steps.filter((step) => step.kind === kind);
  const kind = (box: string) => store.all().now.kinds.find((one) => one.box === box);

  beforeEach(() => {
    [now, current, app, stops] = [0, undefined, createApp(), []];
  });
  afterEach(() => stops.forEach((stop) => stop()));

  it('counts open scopes by kind, also those from before, and instances until their scope is closed', async () => {
    const early = openRequest(app);
    begin();
    const late = openRequest(app);
    late.resolve('IUsers');
    expect(kind('application > request')?.open).toBe(2);
    const stats = () => store.services.all().find(({ key }) => key === 'IUsers');
    expect(stats()).toMatchObject({ box: 'application > request', created: 1, alive: 1 });
    await Promise.all([early.dispose(), late.dispose()]);
    expect([kind('application > request')?.open, stats()?.alive]).toEqual([0, 0]);
    openRequest(createApp()).resolve('IUsers');
    expect(store.all().now.scopes).toEqual([]);
  });

  it('reports each scope that is open after the limit and its response, with the line that opened it', () => {
    begin({ keep: 1 });
    request();
    openRequest(app);
    const leaking = current!;
    now = 5000;
    expect(store.tick().requests).toMatchObject([{ leaks: 0 }]);
    complete(leaking, 200);
    for (let i = 0; i < 5; i++) complete(store.arrive(arrival)!, 200);
    now = 5001;
    store.tick();
    expect(store.details(leaking.id)).toMatchObject({ leaks: 2, open: 2, trouble: true });
    expect(kind('application > request')).toMatchObject({ open: 2, leaks: 2 });
    const where = expect.stringContaining('app.ts') as string;
    expect(store.troubles()[0]).toMatchObject({ kind: 'leak', count: 2, where });
  });

  it('counts transactions by outcome, and names an error without its message', async () => {
    begin();
    await placeOrder(request(), 'committed');
    await placeOrder(request(), 'rolled back');
    const outcomes = { open: 0, committed: 1, 'rolled back': 1, refused: 0, unknown: 0 };
    expect(store.all().now.transactions).toEqual(outcomes);
    const text = JSON.stringify(store.details(current!.id));
    expect(text).toContain('TypeError E_SOLD_OUT');
    expect(text).not.toMatch(/4711|secret/);
    current!.transactionFinished('committed');
    complete(current!, 201);
    expect(store.all().requests[1]).toMatchObject({ outcome: 'committed', failedAttempts: 1, trouble: true });
  });

  it('lists a limited number of requests per second, counts all, and keeps the newest', () => {
    begin({ samplesPerSecond: 2, keep: 3 });
    for (let i = 0; i < 5; i++) complete(store.arrive(arrival)!, 200);
    expect(store.all()).toMatchObject({ now: { arrived: 5, samplesPerSecond: 2 }, requests: { length: 2 } });
    now = 1000;
    expect(store.tick().now.requestsPerSecond).toBe(5);
    for (now = 2000; now < 9000; now += 1000) store.arrive(arrival);
    expect(store.all().requests.map(({ id }) => id)).toEqual([10, 11, 12]);
    expect(store.tick().requests).toHaveLength(3);
    expect(store.tick().requests).toHaveLength(0);
  });

  it('lists every request with trouble: 200 of 10,000, of all kinds', () => {
    begin();
    const troubles: ((record: RequestRecord) => void)[] = [
      (record) => complete(record, 500),
      (record) => complete(record),
      (record) => {
        record.transactionFinished('rolled back');
        complete(record, 200);
      },
      (record) => {
        now += 1000;
        complete(record, 200);
        now -= 1000;
      },
      (record) => {
        record.step('finding', now);
        complete(record, 200);
      },
    ];
    const expected: number[] = [];
    for (let i = 0; i < 10_000; i++) {
      now = i * 2;
      const record = store.arrive(arrival)!;
      const trouble = i % 50 === 49 ? troubles[expected.length % troubles.length] : undefined;
      if (trouble) expected.push(record.id);
      if (trouble) trouble(record);
      else complete(record, 200);
    }
    const { requests } = store.all();
    expect(requests.filter(({ trouble }) => trouble).map(({ id }) => id)).toEqual(expected);
    // The others are a sample.
    expect(requests.length - expected.length).toBeLessThanOrEqual(300);
  });

  it('keeps a bounded number of steps, and beyond it how a request came out', () => {
    begin();
    const record = store.arrive(arrival)!;
    for (let i = 0; i < 10_000; i++) record.step('statement', now, { sql: 'SELECT 1', took: 0 });
    record.threw(new TypeError('of 4711'), now);
    complete(record, 500);
    const { steps, dropped } = store.details(record.id)!;
    expect([steps.length, dropped, steps.slice(-2).map((step) => step.kind)]).toEqual([
      502,
      9501,
      ['threw', 'responded'],
    ]);
    expect(store.troubles().map((trouble) => trouble.kind)).toEqual(['N+1', 'failed handler']);
  });

  it('counts for nobody what is sent in the background after the response, nor a rollback with a response of 4xx', () => {
    begin();
    const record = store.arrive(arrival)!;
    complete(record, 200);
    for (let i = 0; i < 76; i++) record.step('statement', now, { sql: 'SELECT 1', took: 200 });
    const refused = store.arrive(arrival)!;
    refused.transactionFinished('rolled back');
    complete(refused, 409);
    const requests = [
      { statements: 0, alike: 0, trouble: false },
      { outcome: 'rolled back', trouble: false },
    ];
    expect(store.all()).toMatchObject({ requests, troubles: [] });
  });

  it('counts an error that comes from a recorded one as the same, and survives errors that cannot be read', () => {
    begin();
    current = store.arrive(arrival)!;
    const refused = new RangeError('of 4711');
    current.account(refused);
    const wrapped = new Error('no order', { cause: new Error('no row', { cause: refused }) });
    for (const error of [wrapped, wrapped, 'a string', 'a string']) store.failed(error);
    expect(stepsOf('threw').map(({ known }) => known)).toEqual([true, undefined]);
    const unreadable = {
      get: (): never => {
        throw new Error('no');
      },
    };
    const fields = { constructor: unreadable, code: unreadable, stack: unreadable, cause: unreadable };
    current = store.arrive(arrival)!;
    store.failed(Object.defineProperties(new Error('x'), fields));
    complete(current, 500);
    expect(store.troubles()).toMatchObject([{ kind: 'failed handler', error: 'an error that cannot be read' }]);
  });

  it('keeps nothing of the host once a request is over, and sees a connection that was closed without an event', () => {
    begin();
    let [asked, lost] = [0, false];
    const route = (): string | undefined => (++asked > 0 ? '/users' : undefined);
    const record = store.arrive({ ...arrival, lost: () => lost, route, requestId: () => String(++asked) })!;
    expect(store.tick().requests).toMatchObject([{ state: 'open' }]);
    lost = true;
    expect(store.tick().requests).toMatchObject([{ state: 'aborted' }]);
    const before = asked;
    expect(store.all().requests).toMatchObject([{ route: '/users', requestId: String(before) }]);
    expect([asked, record.lost]).toEqual([before, false]);
  });

  it('keeps a bounded number of kinds, keys and open scopes, and still counts', () => {
    begin();
    for (let i = 0; i < 6000; i++) app.createScope({ tags: [`tenant ${i}`] });
    const { kinds, scopes } = store.all().now;
    expect([kinds.length < 110, scopes.length < 100]).toEqual([true, true]);
    expect(kinds.reduce((sum, { open }) => sum + open, 0)).toBe(6001);
    for (let i = 0; i < 3000; i++) store.created(app, `key ${i}`, 1, true);
    expect(store.services.all()).toHaveLength(2000);
  });

  it('has one step of an error that passes several services, and the whole path', () => {
    begin();
    const scope = request();
    const error = new RangeError('canary');
    for (let i = 0; i < 2; i++)
      for (const key of ['IClock', 'IOrders', 'IHandler'])
        channel('ambit:creation:failed').publish({ scope, key, error });
    const path = ['IHandler', 'IOrders', 'IClock'];
    expect(stepsOf('failed')).toMatchObject([{ path, error: 'RangeError' }, { path }]);
  });

  describe('of a wait for a connection', () => {
    const tell = (name: string, message: object): void => channel(`ambit:${name}`).publish(message);
    const pool = {};
    /** A transaction of a new request. */
    const transaction = (): Container => {
      const scope = request().createScope({ tags: ['transaction'] });
      tell('connection:acquired', { pool, milliseconds: 0 });
      tell('transaction:acquired', { scope, milliseconds: 0 });
      return scope;
    };
    const send = (scope: Container): void => {
      const statement = {};
      tell('statement:sent', { statement });
      tell('transaction:statement', { scope, sql: 'SELECT 1', milliseconds: 0, statement });
    };

    it('knows who had one for longest, since which line, and whether that request has its response', () => {
      begin();
      const held = transaction();
      send(held);
      complete(current!, 200);
      now = 700;
      const short = transaction();
      now = 710;
      tell('transaction:finished', { scope: short, outcome: 'committed', milliseconds: 0 });
      now = 800;
      request();
      tell('connection:refused', { pool, milliseconds: 700, error: new Error('no') });
      complete(current!, 503);
      expect(stepsOf('no connection')).toMatchObject([
        {
          doing: expect.stringMatching(
            /^meanwhile 2 transactions had one; for longest GET \/users \(request 1, which has its response\), for 800 ms, since .*store\.test\.ts:\d+:\d+$/,
          ),
          heldAt: expect.stringContaining('store.test.ts'),
        },
      ]);
      expect(store.troubles()[0]).toMatchObject({ kind: 'pool', where: expect.stringContaining('store.test.ts') });
    });

    it('blames nobody where many had one for a short time', () => {
      begin();
      for (now = 0; now < 300; now += 20) {
        const scope = transaction();
        now += 20;
        tell('transaction:finished', { scope, outcome: 'committed', milliseconds: 0 });
      }
      request();
      tell('connection:acquired', { pool, milliseconds: 290 });
      complete(current!, 200);
      const fix = expect.stringContaining('look at the load first') as string;
      const cause = expect.stringContaining('none of them for half of that; for longest GET /users') as string;
      expect(store.troubles()).toMatchObject([{ kind: 'pool', cause, fix }]);
      expect(store.troubles()[0]).not.toHaveProperty('where');
    });

    it('says it once, and names nobody where there are several pools', () => {
      begin();
      transaction();
      now = 400;
      const scope = request();
      tell('connection:acquired', { pool: {}, milliseconds: 400 });
      tell('transaction:acquired', { scope, milliseconds: 412 });
      expect(stepsOf('connection')).toMatchObject([{ took: 400 }]);
      expect(stepsOf('connection')[0]).not.toHaveProperty('doing');
    });
  });
});

it('lateness is the time in which a timer was due and could not run', () => {
  const lateness = new Lateness();
  expect(lateness.within(0, 1000)).toBe(0);
  for (const now of [0, 51, 403, 455]) lateness.beat(now);
  expect([lateness.within(0, 455), lateness.within(200, 455), lateness.within(404, 455)]).toEqual([302, 203, 0]);
  // The timer has not run yet, although it is due.
  expect(lateness.within(0, 805)).toBe(602);
});

it('a message that cannot be recorded ends nothing but its record: a warning names the channel once', async () => {
  const recorded: number[] = [];
  const stop = subscribeAll<{ number: number }>({
    'ambit:test:channels': ({ number }) => {
      if (number === 2) throw new Error('canary');
      recorded.push(number);
    },
  });
  const warned = once(process, 'warning');
  for (const number of [1, 2, 2, 3]) channel('ambit:test:channels').publish({ number });
  const [warning] = (await warned) as [Error];
  stop();
  expect([recorded, channel('ambit:test:channels').hasSubscribers]).toEqual([[1, 3], false]);
  expect(warning.message).toBe('The inspector could not record a message of ambit:test:channels');
});

it('a call to another server is named by host and port alone, with the line that made it', async () => {
  const server = createServer((_, response) => void response.end('done')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const calls: { host?: string; line: string | undefined; failed: boolean }[] = [];
  const owner = { begins: () => undefined, ends: () => undefined };
  const stop = outgoingCalls({
    now: () => 0,
    current: () => owner,
    record: (_: string, { host, place }: { host: string; place: { line?: string } }, { error }: { error: unknown }) =>
      calls.push({ host, line: place.line, failed: error !== undefined }),
  } as never);
  const ask = async (address: string, headers: Record<string, string> = {}): Promise<void> => {
    const [response] = (await once(get(address, { headers }), 'response')) as [NodeJS.ReadableStream];
    await once(response.resume(), 'end');
  };
  await ask(`http://canary:canary@127.0.0.1:${port}/canary?canary`);
  await ask(`http://127.0.0.1:${port}/`, { host: 'canary.example' });
  await (await fetch(`http://127.0.0.1:${port}/canary?canary`)).text();
  server.close();
  server.closeAllConnections();
  await fetch(`http://127.0.0.1:${port}/canary`).catch(() => undefined);
  for (const origin of ['http://canary:canary@orders.example:8080', new URL('https://orders.example'), 'canary']) {
    const message = { request: { origin } };
    channel('undici:request:create').publish(message);
    channel('undici:request:trailers').publish(message);
  }
  stop();
  const here = `127.0.0.1:${port}`;
  const hosts = [here, '127.0.0.1', here, here, 'orders.example:8080', 'orders.example', 'another server'];
  expect(calls.map(({ host }) => host)).toEqual(hosts);
  expect(calls.map(({ failed }) => failed).indexOf(true)).toBe(3);
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const hasLines = major > 22 || (major === 22 && minor >= 12);
  for (const { line } of hasLines ? calls : calls.slice(2))
    expect(line).toMatch(/^packages\/inspector\/test\/store\.test\.ts:\d+:\d+$/);
});
