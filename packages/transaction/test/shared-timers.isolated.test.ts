import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../src/clock.js';

const after = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.setTimer(resolve, ms));
/** Timers that keep the process alive. */
const armed = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

describe('timers of one length, on one timer', () => {
  test('call after their time, each in its turn', async () => {
    const start = performance.now();
    const calls: string[] = [];
    systemClock.setTimer(() => calls.push('first'), 20);
    const second = after(20).then(() => calls.push('second'));
    await after(5);
    calls.push('earlier');
    const late = after(20).then(() => performance.now() - start);
    await second;
    expect(calls).toEqual(['earlier', 'first', 'second']);
    expect(performance.now() - start).toBeGreaterThan(18);
    expect(await late).toBeGreaterThan(23);
  });

  test('do not call once they are cancelled, in any position', async () => {
    const calls: number[] = [];
    const cancelTimer = [0, 1, 2, 3, 4].map((number) => systemClock.setTimer(() => calls.push(number), 10));
    cancelTimer[0]?.();
    cancelTimer[2]?.();
    cancelTimer[4]?.();
    cancelTimer[4]?.();
    systemClock.setTimer(() => calls.push(5), 10);
    await after(10);
    cancelTimer[1]?.();
    expect(calls).toEqual([1, 3, 5]);
  });

  test('may be started and cancelled by one that fires', async () => {
    const calls: string[] = [];
    await new Promise<void>((resolve) => {
      systemClock.setTimer(() => {
        calls.push('first');
        cancelTimer();
        systemClock.setTimer(resolve, 10);
      }, 10);
      const cancelTimer = systemClock.setTimer(() => calls.push('called off'), 10);
    });
    expect(calls).toEqual(['first']);
  });

  test('still call when one of them throws', async () => {
    const thrown = new Promise((resolve) => process.setUncaughtExceptionCaptureCallback(resolve));
    const failure = new Error('not our problem');
    systemClock.setTimer(() => {
      throw failure;
    }, 10);
    await after(10);
    process.setUncaughtExceptionCaptureCallback(null);
    expect(await thrown).toBe(failure);
  });

  test('keep the process alive while one is pending, and no longer', () => {
    const before = armed();
    const cancelTimer = [systemClock.setTimer(() => undefined, 60_000), systemClock.setTimer(() => undefined, 60_000)];
    expect(armed()).toBe(before + 1);
    cancelTimer[0]?.();
    expect(armed()).toBe(before + 1);
    cancelTimer[1]?.();
    expect(armed()).toBe(before);
    const again = systemClock.setTimer(() => undefined, 60_000);
    expect(armed()).toBe(before + 1);
    again();
    expect(armed()).toBe(before);
  });

  test('keep it alive no longer than until they have called', async () => {
    // Timers of Vitest come and go, so one of these has to do. Each length has a timer of its own.
    const kept: number[] = [];
    for (let ms = 15; ms < 40; ms++) {
      const before = armed();
      await after(ms);
      kept.push(armed() - before);
    }
    expect(Math.min(...kept)).toBeLessThanOrEqual(0);
  });

  test('call outside of the async context of the first caller', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const see = (): void => void seen.push(context.getStore());
    context.run('first', () => systemClock.setTimer(see, 10));
    context.run('second', () => systemClock.setTimer(see, 10));
    await after(10);
    expect(seen).toEqual([undefined, undefined]);
  });

  test('go by the real clock, whatever a test puts in its place', async () => {
    vi.useFakeTimers();
    const real = after(10);
    vi.useRealTimers();
    await expect(Promise.all([real, after(10)])).resolves.toHaveLength(2);
  });

  test('wait for longer than one of Node can', async () => {
    const calls: string[] = [];
    const cancelTimer = systemClock.setTimer(() => calls.push('at once'), 2 ** 31);
    await after(10);
    cancelTimer();
    expect(calls).toEqual([]);
  });

  test('are no open handle to what looks for those, as Jest does', async () => {
    const open: string[] = [];
    const init = (_id: number, type: string, _trigger: number, resource: object): void => {
      if (type === 'ambit.timer' && !('hasRef' in resource)) open.push(type);
    };
    const hook = createHook({ init }).enable();
    vi.resetModules();
    await import('../src/clock.js');
    hook.disable();
    expect(open).toEqual([]);
  });
});
