import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { beginTransaction, TransactionStart } from '../src/host.js';
import { type FakeFault, FakePool, type FaultPoint, SimulatedClock } from '../src/testing/index.js';
import type { TinyContainer } from './support/container.js';
import { nothingIsLeft, played, requestScope } from './support/requests.js';
import { poolWith } from './support/foreign-pool.js';

describe('a TransactionStart, which may be rolled back before it has begun', () => {
  let clock: SimulatedClock;
  let faults: Partial<Record<FaultPoint, FakeFault>>;
  let pool: FakePool;
  let request: TinyContainer;

  beforeEach(() => {
    clock = new SimulatedClock();
    faults = {};
    pool = new FakePool({ max: 1, clock, faultAt: (point) => faults[point] ?? { ms: 1, kind: 'none' } });
    request = requestScope(pool);
  });

  const start = (signal?: AbortSignal): TransactionStart => {
    const begun = new TransactionStart(request, { clock, timeoutMs: Infinity, ...(signal ? { signal } : {}) });
    begun.begun.catch(() => undefined);
    return begun;
  };
  const play = <T>(promise: Promise<T>): Promise<T> => played(clock, promise);
  const expectNothingLeft = (): void => nothingIsLeft(pool, request);

  test('has a transaction once BEGIN has succeeded', async () => {
    const started = start();
    expect(started.transaction).toBeUndefined();
    const transaction = await play(started.begun);
    expect(started.transaction).toBe(transaction);
    await play(started.rollback());
    expect(transaction.state).toBe('rolled back');
    expectNothingLeft();
  });

  test('leaves the queue when it is rolled back while it waits for a connection', async () => {
    const holder = await play(beginTransaction(request, { clock, timeoutMs: Infinity }));
    const waiting = start();
    expect(pool.size.waiting).toBe(1);
    await waiting.rollback(new Error('the client disconnected'));
    expect(pool.size.waiting).toBe(0);
    await expect(waiting.begun).rejects.toMatchObject({
      code: 'AMBIT_TX_ABORTED',
      cause: { message: 'the client disconnected' },
    });
    await play(holder.rollback());
    expectNothingLeft();
  });

  test.each(['acquire', 'begin'] as const)('undoes everything when it is rolled back during %s', async (point) => {
    faults[point] = { ms: 50, kind: 'none' };
    const started = start();
    const reason = new Error('changed my mind');
    clock.setTimer(() => void started.rollback(reason), 20);
    await expect(play(started.begun)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED', cause: reason });
    expect(started.transaction).toBeUndefined();
    expect(pool.stored).toEqual([]);
    expectNothingLeft();
  });

  test('rollback() never rejects, whatever becomes of the start, and may be called again', async () => {
    faults.acquire = { ms: 5, kind: 'lost' };
    const started = start();
    await play(Promise.all([started.rollback(), started.rollback()]));
    await play(started.rollback());
    await expect(started.begun).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED' });
    expectNothingLeft();
  });

  test('stops when its signal aborts, and keeps no listener on it', async () => {
    const holder = await play(beginTransaction(request, { clock, timeoutMs: Infinity }));
    const client = new AbortController();
    const waiting = start(client.signal);
    expect(pool.size.waiting).toBe(1);
    client.abort(new Error('the client disconnected'));
    await expect(play(waiting.begun)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });

    const waiter = new AbortController();
    const next = start(waiter.signal);
    await play(holder.rollback());
    await play((await next.begun).commit());
    expect(getEventListeners(waiter.signal, 'abort')).toEqual([]);
    expectNothingLeft();
  });

  test('asks for no connection when the signal fired while a pool around the pool was not yet listening', async () => {
    const holder = await play(beginTransaction(request, { clock, timeoutMs: Infinity }));
    const slow = poolWith(pool, async (options) => {
      await clock.sleep(10);
      return pool.getConnection(options);
    });
    request.register('IDatabasePool', () => slow);
    const client = new AbortController();
    const waiting = start(client.signal);
    client.abort(new Error('the client disconnected'));
    await expect(play(waiting.begun)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(clock.now()).toBeLessThan(100);
    await play(holder.rollback());
    expectNothingLeft();
  });

  test('makes a signal for a pool that looks at it, and otherwise none', async () => {
    const made = vi.spyOn(globalThis, 'AbortController');
    const inTurn = [start(), start()].map(async ({ begun }) => (await begun).commit());
    await play(Promise.all(inTurn));
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();

    const curious = poolWith(
      pool,
      ({ signal } = {}) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('gave up')))),
    );
    request.register('IDatabasePool', () => curious);
    const started = start();
    await play(started.rollback());
    await expect(started.begun).rejects.toMatchObject({ cause: { message: 'gave up' } });
  });
});
