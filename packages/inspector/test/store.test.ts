import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { listen, subscribeAll } from '../src/channels.js';
import { Lateness } from '../src/loop.js';
import type { RequestRecord } from '../src/requests.js';
import { signOf } from '../src/signs.js';
import { Store, type StoreOptions } from '../src/store.js';
import { createApp, openRequest } from './support/app.js';

const arrival = { method: 'GET', route: () => '/users', lost: () => false };

describe('the store', () => {
  let now: number;
  let current: RequestRecord | undefined;
  let app: Container;
  let store: Store;
  let stops: (() => void)[];

  const begin = (options: Partial<StoreOptions> = {}): void => {
    const limits = { limitMs: 1000, keep: 300, keepTrouble: 1000, slowMs: 1000 };
    store = new Store(app, openScopes(app), { ...limits, now: () => now, current: () => current, ...options });
    stops.push(listen(store));
  };
  const request = (): Container => {
    current = store.arrive(arrival);
    return openRequest(app);
  };
  const stepsOf = (kind: string) => store.request(current!.id)!.steps.filter((step) => step.kind === kind);
  const kind = (box: string) => store.state().now.kinds.find((one) => one.box === box);

  beforeEach(() => {
    [now, current, app, stops] = [0, undefined, createApp(), []];
  });
  afterEach(() => stops.forEach((stop) => stop()));

  it('reports each scope that is open after the limit and its response, with the line that opened it', () => {
    begin({ keep: 1 });
    request();
    openRequest(app);
    const leaking = current!;
    now = 5000;
    expect(store.state().requests).toMatchObject([{ troubles: [] }]);
    store.complete(leaking, 200);
    for (let i = 0; i < 5; i++) store.complete(store.arrive(arrival), 200);
    now = 5001;
    store.state();
    const where = expect.stringContaining('app.ts') as string;
    const causes = [{ kind: 'leak', where, step: 1 }, { kind: 'slow' }];
    expect(store.request(leaking.id)).toMatchObject({ open: 2, troubles: ['slow', 'leak'], causes });
    expect(kind('application > request')).toMatchObject({ open: 2, leaks: 2 });
    expect(store.state().troubles![0]).toMatchObject({ kind: 'leak', count: 2, where });
  });

  it('keeps the newest requests, and every one with trouble, also of those that were no longer kept', () => {
    begin({ keep: 3 });
    const first = store.arrive(arrival);
    const troubles: ((record: RequestRecord) => void)[] = [
      (record) => store.complete(record, 500),
      (record) => store.complete(record),
      (record) => {
        record.transactionFinished('rolled back');
        store.complete(record, 200);
      },
      (record) => {
        now += 1000;
        store.complete(record, 200);
      },
      (record) => {
        record.add({ kind: 'finding', at: 0 });
        store.complete(record, 200);
      },
    ];
    for (const make of troubles) {
      make(store.arrive(arrival));
      for (let i = 0; i < 9; i++) store.complete(store.arrive(arrival), 200);
    }
    store.complete(first, 500);
    const { requests, now: state } = store.state();
    expect(requests.filter(({ trouble }) => trouble).map(({ id }) => id)).toEqual([1, 2, 12, 22, 32, 42]);
    expect(requests.filter(({ trouble }) => !trouble).map(({ id }) => id)).toEqual([49, 50, 51]);
    expect(state.arrived).toBe(51);
    expect(store.state(undefined, store.state().version)).toMatchObject({ requests: [] });
  });

  it('keeps a bounded number of steps, and beyond it how a request came out', () => {
    begin();
    current = store.arrive(arrival);
    for (let i = 0; i < 10_000; i++) store.record('statement', { sql: 'SELECT 1', took: 0 });
    store.failed(new TypeError('of 4711'));
    store.complete(current, 500);
    const { steps, dropped, statements } = store.request(current.id)!;
    expect([steps.length, dropped, statements]).toEqual([502, 9501, 10_000]);
    expect(steps.slice(-2).map((step) => step.kind)).toEqual(['threw', 'responded']);
    expect(store.state().troubles!.map((trouble) => trouble.kind)).toEqual(['failed handler', 'N+1']);
  });

  it('counts an error that comes from a recorded one as the same', () => {
    begin();
    current = store.arrive(arrival);
    const refused = new RangeError('of 4711');
    store.record('statement', { sql: 'SELECT 1' }, { error: refused });
    const wrapped = new Error('no order', { cause: new Error('no row', { cause: refused }) });
    for (const error of [wrapped, wrapped, 'a string']) store.failed(error);
    expect(stepsOf('threw').map(({ known }) => known)).toEqual([true, undefined]);
  });

  it('keeps a bounded number of kinds, keys, open scopes and troubles, the newest first', () => {
    begin();
    for (let i = 0; i < 6000; i++) app.createScope({ tags: [`tenant ${i}`] });
    now = 1000;
    const { kinds, scopes } = store.state().now;
    expect([kinds.length, scopes.length]).toEqual([100, 5]);
    for (let i = 0; i < 3000; i++) store.created(app, `key ${i}`, 1, true);
    expect(store.services.all()).toHaveLength(2000);
    for (const i of [...Array.from({ length: 300 }).keys(), 150])
      store.noticed(signOf({ kind: 'slow', cause: 'Took 2 s', where: `a.ts:${i}:1` }));
    const { troubles = [] } = store.state();
    expect([troubles.length, troubles[0]?.where, troubles[0]?.count]).toEqual([200, 'a.ts:150:1', 2]);
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
