import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { listen, subscribeAll } from '../src/channels.js';
import { Lateness } from '../src/loop.js';
import { RequestRecord } from '../src/requests.js';
import { signOf, signsOf } from '../src/signs.js';
import { Troubles } from '../src/troubles.js';
import { Store } from '../src/store.js';
import { Where } from '../src/where.js';
import { createApp } from './support/app.js';

const arrival = { method: 'GET', route: () => '/users' };

describe('the store', () => {
  let now: number;
  let current: RequestRecord | undefined;
  let app: Container;
  let store: Store;
  let stop: () => void;

  const kindsOf = () => store.state().troubles!.map((trouble) => trouble.kind);

  beforeEach(() => {
    [now, current, app] = [0, undefined, createApp()];
    store = new Store(app, openScopes(app), { limitMs: 1000, slowMs: 1000, now: () => now, origin: () => current });
    stop = listen(store);
  });
  afterEach(() => stop());

  it('reports each scope that is open after the limit and its response, with the line that opened it', () => {
    const leaking = (current = store.arrive(arrival));
    for (let i = 0; i < 2; i++) app.createScope({ tags: ['request'] });
    now = 5000;
    expect(store.state().requests).toMatchObject([{ troubles: [] }]);
    expect(store.state().now.scopes).toMatchObject([{ box: 'application > request', count: 2, age: 5000 }]);
    store.complete(leaking, 200);
    for (let i = 0; i < 305; i++) store.complete(store.arrive(arrival), 200);
    now = 5001;
    store.state();
    const where = expect.stringContaining('store.test.ts') as string;
    const causes = [{ kind: 'leak', where, step: 1 }, { kind: 'slow' }];
    expect(store.request(leaking.id)).toMatchObject({ open: 2, troubles: ['slow', 'leak'], causes });
    expect(store.state().now.kinds).toContainEqual({ box: 'application > request', open: 2, leaks: 2 });
    expect(store.state().troubles![0]).toMatchObject({ kind: 'leak', count: 2, where });
  });

  const rejects = () => store.unhandled(new TypeError('of 4711'));
  const poll = (isRejected = false): void => {
    store.statement('SELECT 1', { place: new Where() }, {});
    if (isRejected) rejects();
  };
  const work = (fails: boolean): void => {
    const run = {};
    store.works(run);
    store.settled({ work: run, ...(fails && { error: new TypeError('of 4711') }) });
  };
  it.each<[what: string, kinds: string[], run: (isLast: boolean, isFirst: boolean) => void]>([
    ['one card with the rejection of its function', ['unhandled'], (isLast) => poll(isLast)],
    ['one card with the failure of its work', ['failed handler'], (isLast) => work(isLast)],
    ['a card of its own after a failure that did not end it', ['failed handler', 'stopped'], (_, first) => work(first)],
    ['a card of its own after a rejection that did not end it', ['stopped', 'unhandled'], (_, first) => poll(first)],
    [
      'a card of its own beside that of another function',
      ['stopped', 'unhandled'],
      (isLast) => [poll(), isLast && rejects()],
    ],
    [
      'a card of its own beside that of a request',
      ['stopped', 'unhandled'],
      (isLast) => {
        poll();
        if (isLast) current = store.arrive(arrival);
        if (isLast) poll(true);
      },
    ],
  ])('what begins no more is said once, on %s', (_, kinds, run) => {
    for (; now < 50_000; now += 10_000) run(now === 40_000, now === 0);
    current = undefined;
    const saying = () => {
      const { troubles = [] } = store.state();
      return troubles.filter(({ cause }) => /What began each 10\.0 s, .+, has not begun since \d/.test(cause));
    };
    now = 139_999;
    expect(saying()).toEqual([]);
    for (now of [140_000, 300_000]) {
      const fix = expect.stringContaining('Catch what one run throws') as string;
      const where = expect.stringContaining('store.test.ts') as string;
      expect(saying()).toMatchObject([{ fix, where, count: 1, failed: 1 }]);
      expect(kindsOf().toSorted()).toEqual(kinds);
    }
  });

  it('keeps the newest requests, and every one with trouble, also of those that were no longer kept', () => {
    const first = store.arrive(arrival);
    const troubles: readonly (readonly [status?: number, meanwhile?: (record: RequestRecord) => unknown])[] = [
      [500],
      [],
      [200, (record) => record.transactionFinished('rolled back')],
      [200, () => (now += 1000)],
      [200, (record) => record.add('finding', 0, {})],
    ];
    for (const [status, meanwhile] of troubles) {
      const record = store.arrive(arrival);
      meanwhile?.(record);
      store.complete(record, status);
      for (let i = 0; i < 299; i++) store.complete(store.arrive(arrival), 200);
    }
    store.complete(first, 500);
    const { requests, now: state } = store.state();
    const idsOf = (isTrouble: boolean): number[] =>
      requests.filter(({ trouble }) => trouble === isTrouble).map(({ id }) => id);
    expect(idsOf(true)).toEqual([1, 2, 302, 602, 902, 1202]);
    expect(idsOf(false).slice(0, 2)).toEqual([1201, 1203]);
    expect([requests.length, state.arrived]).toEqual([306, 1501]);
    expect(store.state(undefined, store.state().version)).toMatchObject({ requests: [] });
  });

  it('keeps the newest request of each route and status', () => {
    for (const status of [404, 404, 201]) store.complete(store.arrive(arrival), status);
    for (let i = 0; i < 400; i++) store.complete(store.arrive({ ...arrival, method: 'POST' }), 200);
    const { requests } = store.state();
    expect(requests.map(({ id }) => id).slice(0, 3)).toEqual([2, 3, 104]);
    expect([requests.length, store.request(2)?.status, store.request(1)]).toEqual([302, 404, undefined]);
  });

  it('a route that was good and refuses all of a sudden is news, with both statuses', () => {
    for (const status of [200, 200, 401, 200, 200, 200, 200, 200, 401, 401, 401, 401, 503])
      store.complete(store.arrive(arrival), status);
    expect(kindsOf()).not.toContain('turned');
    for (let i = 0; i < 9; i++) store.complete(store.arrive(arrival), 401);
    const cause = 'GET /users responded 200 before, and 401 to each of the last 5 requests';
    expect(store.state().troubles).toContainEqual(expect.objectContaining({ kind: 'turned', cause, count: 1 }));
    store.complete(store.arrive(arrival), 200);
    expect(kindsOf()).not.toContain('turned');
  });

  it('keeps a bounded number of steps, and beyond it how a request came out', () => {
    current = store.arrive(arrival);
    for (let i = 0; i < 10_000; i++) store.record('statement', { sql: 'SELECT 1', took: 0 });
    store.failed(new TypeError('of 4711'));
    store.complete(current, 500);
    const { steps, dropped, statements } = store.request(current.id)!;
    expect([steps.length, dropped, statements]).toEqual([502, 9501, 10_000]);
    expect(steps.slice(-2).map((step) => step.kind)).toEqual(['threw', 'responded']);
    expect(kindsOf()).toEqual(['failed handler', 'N+1']);
  });

  it('counts an error that comes from a recorded one as the same', () => {
    current = store.arrive(arrival);
    const refused = new RangeError('of 4711');
    store.record('statement', { sql: 'SELECT 1' }, { error: refused });
    const wrapped = new Error('no order', { cause: new Error('no row', { cause: refused }) });
    for (const error of [wrapped, wrapped, 'a string']) store.failed(error);
    const thrown = store.request(current.id)!.steps.filter(({ kind }) => kind === 'threw');
    expect(thrown.map(({ known }) => known)).toEqual([true, undefined]);
  });

  it('names a handler that goes on after its response', () => {
    current = store.arrive(arrival);
    store.complete(current, 404);
    store.failed(Object.assign(new Error('Cannot set headers'), { code: 'ERR_HTTP_HEADERS_SENT' }));
    const cause = expect.stringMatching(/^The handler responded 404, went on, and failed/) as string;
    expect(store.state().troubles).toMatchObject([{ kind: 'failed handler', cause, count: 1 }]);
  });
});

it('harm that is over stands behind what goes on', () => {
  const troubles = new Troubles();
  for (const [kind, minutes] of [
    ['slow', 1],
    ['deadlock', 11],
    ['conflict', 12],
    ['leak', 60],
  ] as const)
    for (const at of [Date.now(), Date.now()])
      troubles.add(signOf({ kind, cause: 'It was', fails: minutes > 1 }), at - minutes * 60_000);
  // A machine that was busy is no trouble.
  troubles.add(signOf({ kind: 'slow', cause: 'It computed', about: 'late', into: ['blocked loop'] }), Date.now());
  expect(troubles.all().map(({ kind }) => kind)).toEqual(['leak', 'slow', 'deadlock', 'conflict']);
});

it('a full pool is no card of its own, where those who have its connections wait for a second one', () => {
  const troubles = new Troubles();
  const occurrence = { id: 1, name: 'GET /orders', failed: false };
  const wait = { kind: 'connection', at: 0, took: 500, shares: [{ name: 'GET /orders', took: 900 }] } as const;
  const waiting = { ...new RequestRecord(2, arrival, 0, 1000).details(0), steps: [wait] };
  for (const sign of signsOf(waiting, { slowMs: 1000, limitMs: 1000 })) troubles.add(sign, 0);
  troubles.add(signOf({ kind: 'second connection', cause: 'It takes two' }), 0, occurrence);
  expect(troubles.all()).toMatchObject([{ kind: 'second connection', cause: expect.stringContaining('1 other') }]);
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
