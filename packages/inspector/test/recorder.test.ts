import { channel } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openScopes } from '@ambit/container/tools';
import type { Container } from '@ambit/container';
import { listen } from '../src/recording.js';
import { Recorder } from '../src/recorder.js';
import { type RequestListOptions, type RequestRecord, RequestSums } from '../src/requests.js';
import { NamesTable } from '../src/tables.js';
import { createApp, openRequest, placeOrder } from './support/app.js';

const arrival = { method: 'GET', route: () => '/users', lost: () => false };

describe('the recorder', () => {
  let now: number;
  let current: RequestRecord | undefined;
  let app: Container;
  let recorder: Recorder;
  let stop: () => void;

  const begin = (options: Partial<RequestListOptions> = {}): void => {
    recorder = new Recorder(app, openScopes(app), {
      limitMs: 1000,
      samplesPerSecond: 50,
      keep: 300,
      keepTrouble: 1000,
      slowMs: 1000,
      now: () => now,
      current: () => current,
      ...options,
    });
    stop = listen(recorder);
  };
  const request = (): Container => {
    current = recorder.arrive(arrival);
    return openRequest(app);
  };
  const kind = (box: string) => recorder.all().now.kinds.find((one) => one.box === box);

  beforeEach(() => {
    now = 0;
    current = undefined;
    app = createApp();
  });
  afterEach(() => stop());

  it('counts the open scopes by kind, those included that were open before', async () => {
    const early = openRequest(app);
    begin();
    const late = openRequest(app);
    expect(kind('application > request')?.open).toBe(2);
    await Promise.all([early.dispose(), late.dispose()]);
    expect(kind('application > request')?.open).toBe(0);
  });

  it('counts the scopes that are opened and closed per second', async () => {
    begin();
    now = 5000;
    for (let i = 0; i < 3; i++) await openRequest(app).dispose();
    now = 6000;
    expect(kind('application > request')).toMatchObject({ openedPerSecond: 3, closedPerSecond: 3 });
    now = 8000;
    expect(kind('application > request')).toMatchObject({ openedPerSecond: 0, closedPerSecond: 0 });
  });

  it('marks a scope that passes the limit, and says where it was opened', () => {
    begin();
    openRequest(app);
    now = 999;
    expect(recorder.tick().now.scopes).toMatchObject([{ old: false, age: 999 }]);
    now = 1000;
    expect(recorder.tick().now.scopes).toMatchObject([{ old: true, where: { 0: expect.stringContaining('app.ts') } }]);
  });

  it('reports a leak only after the request is complete', () => {
    begin();
    request();
    now = 5000;
    expect(recorder.tick().requests).toMatchObject([{ leaks: 0 }]);
    recorder.responded(current!, 200);
    now = 5001;
    recorder.tick();
    expect(recorder.all().requests).toMatchObject([{ leaks: 1, open: 1 }]);
  });

  it('counts instances until their scope is closed, and measures how long creating them took', async () => {
    begin();
    const scope = openRequest(app);
    scope.resolve('IUsers');
    const stats = () => recorder.all().services.find(({ key }) => key === 'IUsers');
    expect(stats()).toMatchObject({ box: 'application > request', created: 1, alive: 1 });
    await scope.dispose();
    expect(stats()).toMatchObject({ created: 1, alive: 0, averageMs: expect.any(Number) });
  });

  it('counts transactions by outcome', async () => {
    begin();
    await placeOrder(request(), 'committed');
    await placeOrder(request(), 'rolled back');
    expect(recorder.all().now.transactions).toEqual({
      open: 0,
      committed: 1,
      'rolled back': 1,
      refused: 0,
      unknown: 0,
    });
    expect(recorder.all().requests.map(({ outcome }) => outcome)).toEqual(['committed', 'rolled back']);
  });

  it('records the class and the code of an error, but not its message', async () => {
    begin();
    await placeOrder(request(), 'rolled back');
    const text = JSON.stringify(recorder.details(current!.id));
    expect(text).toContain('TypeError E_SOLD_OUT');
    expect(text).not.toMatch(/4711|secret/);
  });

  it('records the creation of an application singleton in the request that resolved it', () => {
    begin();
    request().resolve('IUsers');
    const steps = recorder.details(current!.id)!.steps.filter(({ kind: step }) => step === 'created');
    expect(steps).toMatchObject([{ key: 'IDatabasePool' }, { key: 'IUsers', span: 0 }]);
    expect(steps[0]).not.toHaveProperty('span');
  });

  it('says once that a transaction waited for a connection, also where it went on for longer than the pool says', () => {
    begin();
    const scope = request();
    const waits = () => recorder.details(current!.id)!.steps.filter(({ kind: step }) => step === 'connection');
    const pool = {};
    const tell = (name: string, milliseconds: number): void =>
      channel(`ambit:${name}:acquired`).publish({ scope, parent: scope, pool, milliseconds });
    now = 400;
    tell('connection', 400);
    now = 412;
    tell('transaction', 412);
    expect(waits()).toMatchObject([{ took: 400, span: 0 }]);
    now = 600;
    tell('connection', 100);
    now = 900;
    tell('transaction', 200);
    expect(waits().map(({ took }) => took)).toEqual([400, 100, 200]);
  });

  it('counts all requests, and lists as many of them per second as a page wants', () => {
    begin({ samplesPerSecond: 1 });
    for (let i = 0; i < 3; i++) request();
    expect(recorder.all()).toMatchObject({ now: { arrived: 3, samplesPerSecond: 1 }, requests: [{ id: 1 }] });
    recorder.sample(100);
    for (let i = 0; i < 3; i++) request();
    expect(recorder.all().now).toMatchObject({ arrived: 6, samplesPerSecond: 100 });
    expect(recorder.all().requests.map(({ id }) => id)).toEqual([1, 4, 5, 6]);
  });

  it('ignores other applications in the process', () => {
    begin();
    const other = createApp();
    openRequest(other).resolve('IUsers');
    expect(recorder.all()).toMatchObject({ services: [], now: { scopes: [] } });
  });

  it('lists a limited number of requests per second, and counts all', () => {
    begin({ samplesPerSecond: 2 });
    for (let i = 0; i < 5; i++) recorder.responded(recorder.arrive(arrival)!, 200);
    expect(recorder.all().requests).toHaveLength(2);
    now = 1000;
    expect(recorder.tick().now).toMatchObject({ requestsPerSecond: 5, recordedPerSecond: 2 });
    recorder.arrive(arrival);
    expect(recorder.all().requests).toHaveLength(3);
  });

  it('takes a rollback with a response of 4xx for a decision of the application', () => {
    begin();
    const record = recorder.arrive(arrival)!;
    record.transactionFinished('rolled back');
    recorder.responded(record, 409);
    expect(recorder.all()).toMatchObject({ requests: [{ outcome: 'rolled back', trouble: false }], troubles: [] });
  });

  it('shows the outcome of the last attempt, and how many failed before', () => {
    begin();
    const record = recorder.arrive(arrival)!;
    for (const outcome of ['rolled back', 'rolled back', 'committed'] as const) record.transactionFinished(outcome);
    recorder.responded(record, 201);
    expect(recorder.all().requests).toMatchObject([{ outcome: 'committed', failedAttempts: 2, trouble: true }]);
  });

  it('lists every request with trouble: 1,000 of 50,000, of all kinds', () => {
    begin();
    const troubles: ((record: RequestRecord) => void)[] = [
      (record) => recorder.responded(record, 500),
      (record) => recorder.aborted(record),
      (record) => {
        record.transactionFinished('rolled back');
        recorder.responded(record, 200);
      },
      (record) => {
        now += 1000;
        recorder.responded(record, 200);
        now -= 1000;
      },
      (record) => {
        record.found(now, {});
        recorder.responded(record, 200);
      },
    ];
    const expected: number[] = [];
    for (let i = 0; i < 50_000; i++) {
      now = i * 2;
      const record = recorder.arrive(arrival)!;
      const trouble = i % 50 === 49 ? troubles[expected.length % troubles.length] : undefined;
      if (trouble) expected.push(record.id);
      if (trouble) trouble(record);
      else recorder.responded(record, 200);
    }
    const { requests } = recorder.all();
    expect(requests.filter(({ trouble }) => trouble).map(({ id }) => id)).toEqual(expected);
    expect(expected).toHaveLength(1000);
    // The others are a sample.
    expect(requests.length - expected.length).toBeLessThanOrEqual(300);
    expect(recorder.details(expected[0]!)?.steps.map(({ kind: step }) => step)).toEqual(['arrived', 'responded']);
  });

  it('lists a request whose scope leaked after newer requests had taken its place', () => {
    begin({ keep: 3 });
    const scope = request();
    const leaked = current!;
    recorder.responded(leaked, 200);
    current = undefined;
    for (let i = 0; i < 10; i++) recorder.responded(recorder.arrive(arrival)!, 200);
    expect(recorder.details(leaked.id)).toBeUndefined();
    now = 2000;
    recorder.tick();
    expect(recorder.details(leaked.id)).toMatchObject({ leaks: 1, trouble: true });
    void scope.dispose();
  });

  it('keeps the newest requests', () => {
    begin({ keep: 3 });
    const ids = Array.from({ length: 10 }, () => recorder.arrive(arrival)!.id);
    expect(recorder.all().requests.map(({ id }) => id)).toEqual(ids.slice(-3));
    expect(recorder.details(ids[0]!)).toBeUndefined();
  });

  it('keeps a bounded number of steps', () => {
    begin();
    const record = recorder.arrive(arrival)!;
    for (let i = 0; i < 10_000; i++) record.step('statement', now);
    expect(record.details(0)).toMatchObject({ steps: { length: 500 }, dropped: 9501 });
  });

  it('keeps how a request came out, and what went wrong, beyond the number of steps that it keeps', () => {
    begin();
    const record = recorder.arrive(arrival)!;
    for (let i = 0; i < 10_000; i++) record.step('statement', now, { sql: 'SELECT 1', took: 0 });
    record.threw(new TypeError('of 4711'), now);
    recorder.responded(record, 500);
    expect(
      recorder
        .details(record.id)
        ?.steps.slice(-2)
        .map(({ kind: step }) => step),
    ).toEqual(['threw', 'responded']);
    expect(recorder.troubles().map(({ kind: trouble }) => trouble)).toEqual(['N+1', 'failed handler']);
  });

  it('counts an error that comes from a recorded one as the same', () => {
    begin();
    const record = recorder.arrive(arrival)!;
    const refused = new RangeError('of 4711');
    record.account(refused);
    const wrapped = new Error('no order', { cause: new Error('no row', { cause: refused }) });
    record.threw(wrapped, now);
    record.threw(wrapped, now);
    record.threw('a string', now);
    record.threw('a string', now);
    const steps = recorder.details(record.id)!.steps.filter(({ kind: step }) => step === 'threw');
    expect(steps.map(({ known }) => known)).toEqual([true, undefined]);
  });

  it('survives errors that cannot be read', () => {
    begin();
    const fail = (): never => {
      throw new Error('no');
    };
    const unreadable = Object.defineProperties(new Error('x'), {
      constructor: { get: fail },
      code: { get: fail },
      stack: { get: fail },
      cause: { get: fail },
    });
    const nameless = Object.assign(new Error('x'), { constructor: undefined });
    current = recorder.arrive(arrival);
    for (const error of [unreadable, nameless]) recorder.failed(error);
    recorder.responded(current!, 500);
    expect(recorder.troubles()).toMatchObject([{ kind: 'failed handler', error: 'an error that cannot be read' }]);
  });

  it('keeps nothing of the host once a request is over', () => {
    begin();
    let asked = 0;
    const record = recorder.arrive({
      ...arrival,
      lost: () => ++asked > 0,
      route: () => (++asked > 0 ? '/users' : undefined),
      requestId: () => String(++asked),
    })!;
    recorder.responded(record, 200);
    const before = asked;
    expect(recorder.all().requests).toMatchObject([{ route: '/users', requestId: String(before) }]);
    recorder.tick();
    expect([asked, record.lost]).toEqual([before, false]);
  });

  it('keeps a bounded number of kinds, keys and open scopes, and still counts', () => {
    begin();
    for (let i = 0; i < 6000; i++) recorder.scopeOpened(app.createScope({ tags: [`tenant ${i}`] }));
    const { kinds, scopes } = recorder.all().now;
    expect(kinds.length).toBeLessThan(110);
    expect(scopes.length).toBeLessThan(100);
    expect(kinds.reduce((sum, { open }) => sum + open, 0)).toBe(12_001);
    for (let i = 0; i < 3000; i++) recorder.creations.created(app, `key ${i}`, 1);
    expect(recorder.all().services).toHaveLength(2000);
  });

  it('sends only what has changed', () => {
    begin();
    recorder.arrive(arrival);
    expect(recorder.tick().requests).toHaveLength(1);
    expect(recorder.tick().requests).toHaveLength(0);
  });

  it('marks a request as aborted whose connection was closed without an event', () => {
    begin();
    let lost = false;
    recorder.arrive({ ...arrival, lost: () => lost });
    expect(recorder.tick().requests).toMatchObject([{ state: 'open' }]);
    lost = true;
    expect(recorder.tick().requests).toMatchObject([{ state: 'aborted' }]);
  });
});

describe('how often a request sent a statement', () => {
  it('is counted for each attempt of a transaction that was retried', () => {
    const sums = new RequestSums(new NamesTable());
    for (const span of [1, 2, 3]) {
      for (let i = 0; i < 2; i++) sums.statement('SELECT a', 1, span);
      if (span < 3) sums.rolledBack(span);
    }
    expect(sums.toJSON()).toMatchObject({ statements: 6, alike: 2 });
    for (let i = 0; i < 4; i++) sums.statement('SELECT b', 1, 4);
    sums.rolledBack(4);
    expect(sums.toJSON()).toMatchObject({ statements: 10, alike: 4 });
    // Transactions that were committed, and statements outside of them, are one.
    for (const span of [undefined, 5, 6]) sums.statement('SELECT a', 1, span);
    expect(sums.toJSON()).toMatchObject({ alike: 5 });
  });
});
