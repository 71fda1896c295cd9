import { channel } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { Holders } from '../src/holders.js';
import { Lateness } from '../src/loop.js';
import { Recorder } from '../src/recorder.js';
import { listen } from '../src/recording.js';
import { RequestRecord } from '../src/requests.js';
import { NamesTable } from '../src/tables.js';
import { Where } from '../src/where.js';
import { createApp, openRequest } from './support/app.js';

describe('who holds a lock', () => {
  /** Whether the first statement, in a transaction that ends, explains the wait of the second. */
  const explains = (first: string, second: string): boolean => {
    const holders = new Holders(new Lateness());
    const [holder, waiter] = [{}, {}];
    holders.acquired(holder, undefined, 0);
    holders.statement(holder, first, undefined);
    holders.acquired(waiter, undefined, 5);
    holders.ended(holder, 300);
    return holders.ofLock(waiter, second, 10, 301) !== undefined;
  };

  it.each([
    ['UPDATE products SET a = ?', 'DELETE FROM products'],
    ['UPDATE "products" SET a = ?', 'SELECT a FROM products FOR UPDATE'],
    ['UPDATE IGNORE products SET a = ?', 'INSERT IGNORE INTO products VALUES (?)'],
    ['UPDATE OR REPLACE products SET a = ?', 'REPLACE INTO products VALUES (?)'],
    ['SELECT a FROM products FOR NO KEY UPDATE', 'MERGE INTO ONLY products USING b ON a = b'],
    ['INSERT INTO products VALUES (?) ON CONFLICT DO UPDATE SET a = ?', 'UPDATE products SET a = ?'],
  ])('is read in %s, for %s', (first, second) => {
    expect(explains(first, second)).toBe(true);
  });

  it.each([
    [
      'INSERT INTO a VALUES (?) ON CONFLICT (id) DO UPDATE SET n = ?',
      'INSERT INTO b VALUES (?) ON CONFLICT (id) DO UPDATE SET n = ?',
    ],
    [
      'INSERT INTO a VALUES (?) ON DUPLICATE KEY UPDATE n = ?',
      'INSERT INTO b VALUES (?) ON DUPLICATE KEY UPDATE n = ?',
    ],
    ['SELECT a FROM jobs FOR UPDATE SKIP LOCKED', 'SELECT a FROM mails FOR UPDATE SKIP LOCKED'],
    ['SELECT a FROM jobs FOR UPDATE OF jobs', 'SELECT a FROM mails FOR UPDATE OF mails'],
    ['UPDATE products SET a = ?', 'SELECT a FROM products'],
  ])('is nobody with %s, for %s', (first, second) => {
    expect(explains(first, second)).toBe(false);
  });
});

describe('who holds a connection', () => {
  it('is looked for in the same pool', () => {
    const holders = new Holders(new Lateness());
    const [one, other] = [{}, {}];
    holders.uses(one);
    holders.acquired({}, undefined, 0, one);
    expect(holders.ofConnection(one, 10, 300, true)).toMatchObject({ milliseconds: 300 });
    holders.uses(other);
    expect(holders.ofConnection(other, 10, 300, true)).toBeUndefined();
    expect(holders.ofConnection(one, 10, 300, true)).toMatchObject({ milliseconds: 300 });
  });

  it('is nobody where none was returned when the waiting ended: the pool has opened it', () => {
    const lateness = new Lateness();
    const holders = new Holders(lateness);
    const scope = {};
    holders.acquired(scope, undefined, 0);
    expect(holders.ofConnection({}, 10, 300, false)).toBeUndefined();
    holders.ended(scope, 300);
    expect(holders.ofConnection({}, 10, 310, false)).toMatchObject({ ended: true });
    expect(holders.ofConnection({}, 10, 350, false)).toBeUndefined();
    // The process was busy in between.
    lateness.beat(255);
    expect(holders.ofConnection({}, 10, 350, false)).toMatchObject({ ended: true });
  });
});

describe('a pool without a free connection', () => {
  const record = (route: string): RequestRecord =>
    new RequestRecord(1, { method: 'GET', route: () => route, lost: () => false }, 0, {
      slowMs: 1000,
      names: new NamesTable(),
    });

  it('names the route that had connections for most of the waiting, and what it waited for', () => {
    const holders = new Holders(new Lateness());
    const [pays, reads] = [record('/pays'), record('/reads')];
    for (const scope of [{}, {}]) {
      holders.acquired(scope, pays, 0);
      holders.statement(scope, 'SELECT a', undefined, { now: 10, took: 5 });
    }
    pays.begins({ host: 'bank.example', place: new Where(), started: 12 });
    const short = {};
    holders.acquired(short, reads, 700);
    holders.ended(short, 710);
    // The one that returned its connection last is not to blame.
    expect(holders.ofConnection(undefined, 100, 711, false)).toMatchObject({
      name: 'GET /pays',
      doing: expect.stringMatching(/^it waited 699 ms for bank\.example at .*holders\.test\.ts:\d+:\d+$/),
      where: expect.stringContaining('holders.test.ts'),
    });
  });

  it('is busy where nobody had one for long, or did one thing', () => {
    const holders = new Holders(new Lateness());
    for (let at = 0; at < 300; at += 20) {
      const scope = {};
      holders.acquired(scope, record(`/route/${at}`), at);
      holders.ended(scope, at + 20);
    }
    const busy = holders.ofConnection(undefined, 10, 300, false);
    expect(busy).toMatchObject({ among: 15, milliseconds: 20 });
    expect(busy).not.toHaveProperty('where');
  });
});

describe('lateness', () => {
  it('is the time in which a timer was due and could not run', () => {
    const lateness = new Lateness();
    expect(lateness.within(0, 1000)).toBe(0);
    for (const now of [0, 51, 403, 455]) lateness.beat(now);
    expect(lateness.within(0, 455)).toBe(302);
    expect(lateness.within(200, 455)).toBe(203);
    expect(lateness.within(404, 455)).toBe(0);
    // The timer has not run yet, although it is due.
    expect(lateness.within(0, 805)).toBe(602);
  });
});

describe('waiting', () => {
  let now: number;
  let current: RequestRecord | undefined;
  let app: Container;
  let recorder: Recorder;
  let stop: () => void;

  const tell = (name: string, message: object): void => channel(`ambit:${name}`).publish(message);
  /** A transaction of a new request, whose connection it waited for. */
  const begin = (waited = 0): { readonly record: RequestRecord; readonly scope: Container } => {
    const record = recorder.arrive({ method: 'GET', route: () => '/orders', lost: () => false })!;
    current = record;
    const parent = openRequest(app);
    now += waited;
    const scope = parent.createScope({ tags: ['transaction'] });
    tell('transaction:acquired', { parent, scope, milliseconds: waited });
    tell('transaction:begun', { scope, milliseconds: 0 });
    return { record, scope };
  };
  const send = (scope: Container, sql: string, milliseconds: number): void => {
    now += milliseconds;
    tell('transaction:statement', { scope, sql, milliseconds });
  };
  const finish = (scope: Container, outcome = 'committed'): void =>
    tell('transaction:finished', { scope, outcome, milliseconds: 0 });
  const kindsAfter = (...records: readonly RequestRecord[]): string[] => {
    for (const record of records) recorder.responded(record, 200);
    return recorder.troubles().map(({ kind }) => kind);
  };

  beforeEach(() => {
    [now, current, app] = [0, undefined, createApp()];
    const limits = { limitMs: 10_000, samplesPerSecond: 50, keep: 300, keepTrouble: 1000, slowMs: 10_000 };
    recorder = new Recorder(app, openScopes(app), { ...limits, now: () => now, current: () => current });
    stop = listen(recorder);
  });
  afterEach(() => stop());

  it('for a lock is found, and who held it', () => {
    const [holder, waiter] = [begin(), begin()];
    send(holder.scope, 'UPDATE products SET a = 1 WHERE id = 1', 5);
    now += 200;
    finish(holder.scope);
    now -= 200;
    send(waiter.scope, 'UPDATE products SET a = 2 WHERE id = 1', 201);
    expect(kindsAfter(holder.record, waiter.record)).toEqual(['lock']);
  });

  it('for a lock is found where the holder hears later of its own COMMIT', () => {
    const [holder, waiter] = [begin(), begin()];
    send(holder.scope, 'UPDATE products SET a = 1 WHERE id = 1', 5);
    tell('transaction:finishing', { scope: holder.scope });
    send(waiter.scope, 'UPDATE products SET a = 2 WHERE id = 1', 201);
    finish(holder.scope);
    expect(kindsAfter(holder.record, waiter.record)).toEqual(['lock']);
  });

  it('is not what a statement does that never takes less', () => {
    const slow = 'UPDATE products SET a = pg_sleep(0.2) WHERE id = 1';
    const alone = begin();
    send(alone.scope, slow, 200);
    finish(alone.scope);
    now = 1000;
    const [holder, waiter] = [begin(), begin()];
    send(holder.scope, 'UPDATE products SET a = 1 WHERE id = 2', 5);
    now += 200;
    finish(holder.scope);
    now -= 200;
    send(waiter.scope, slow, 203);
    expect(kindsAfter(alone.record, holder.record, waiter.record)).toEqual([]);
  });

  it('is not what the process does when it is busy: for a lock, for a connection', () => {
    recorder.lateness.beat(0);
    const [holder, waiter] = [begin(), begin()];
    send(holder.scope, 'UPDATE products SET a = 1 WHERE id = 1', 5);
    now = 400;
    // Both results were there long before.
    finish(holder.scope);
    tell('transaction:statement', { scope: waiter.scope, sql: 'UPDATE products SET a = 2', milliseconds: 380 });
    recorder.lateness.beat(now);
    const late = begin(0);
    tell('connection:acquired', { pool: {}, milliseconds: 380 });
    expect(kindsAfter(holder.record, waiter.record, late.record)).toEqual([]);
  });

  it('for a connection is found, and a transaction whose scope was closed before its end holds none', () => {
    const lost = begin();
    void lost.scope.dispose();
    recorder.responded(lost.record, 200);
    now = 20_000;
    expect(kindsAfter(begin(300).record)).toEqual(['pool']);
    expect(recorder.troubles()).toMatchObject([{ cause: 'Waited 300 ms for a connection' }]);
  });
});
