import { describe, expect, it, vi } from 'vitest';
import { Container, type ContainerError } from '../src/index.js';
import { openScopes } from '../src/tools.js';
import { drainScopes, inScope } from '../src/work.js';
import { gate, turn } from './support/disposers.js';

const application = () => new Container({ tags: ['application'] });

/** Work in progress that the test finishes. */
function working(app: Container) {
  const { opened, open } = gate();
  let signal!: AbortSignal;
  const done = inScope(app, {}, async (_scope, own) => {
    signal = own;
    await opened;
    return 'done';
  });
  return { done, finish: open, signal: () => signal };
}

describe('drainScopes', () => {
  it('resolves to 0 at once where no work is in progress', async () => {
    expect(await drainScopes(application(), { timeoutMs: 0 })).toBe(0);
  });

  it('lets the work in progress finish, and waits until its scope is disposed', async () => {
    const app = application();
    const { done, finish, signal } = working(app);
    const drained = vi.fn<(stillRunning: number) => void>();
    const draining = drainScopes(app).then(drained);
    await turn();
    expect(drained).not.toHaveBeenCalled();
    finish();
    await draining;
    expect(drained).toHaveBeenCalledExactlyOnceWith(0);
    expect(openScopes(app)).toEqual([]);
    expect([await done, signal().aborted]).toEqual(['done', false]);
  });

  it('refuses new work from the first moment on, and forever', async () => {
    const app = application();
    const { done, finish } = working(app);
    const draining = drainScopes(app);
    const refused = { code: 'AMBIT_DRAINING', hint: expect.stringContaining('drainScopes()') as string };
    await expect(inScope(app, {}, () => 1)).rejects.toMatchObject(refused);
    finish();
    await Promise.all([draining, done]);
    await expect(inScope(app, {}, () => 1)).rejects.toMatchObject(refused);
    expect(openScopes(app)).toEqual([]);
  });

  it('lets work in progress open scopes of its own', async () => {
    const app = application();
    const { opened, open } = gate();
    const connection = inScope(app, {}, async (scope) => {
      await opened;
      return inScope(scope, { tags: ['message'] }, ({ tags }) => tags);
    });
    const draining = drainScopes(app);
    open();
    expect(await connection).toEqual(['message']);
    expect(await draining).toBe(0);
  });

  it('aborts work that takes longer than timeoutMs, and waits for it again', async () => {
    const app = application();
    const stopped = inScope(
      app,
      {},
      (_scope, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    ).catch((error: unknown) => error as ContainerError);
    expect(await drainScopes(app, { timeoutMs: 1 })).toBe(0);
    expect(await stopped).toMatchObject({ code: 'AMBIT_DRAIN_TIMEOUT', message: expect.stringContaining('1 ms') });
    expect(openScopes(app)).toEqual([]);
  });

  it('tells how many ignore that; the container then disposes their scopes, and they settle when they like', async () => {
    const app = application();
    const [first, second] = [working(app), working(app)];
    expect(await drainScopes(app, { timeoutMs: 0, abortTimeoutMs: 0 })).toBe(2);
    expect([first.signal().aborted, second.signal().aborted]).toEqual([true, true]);
    await app.dispose();
    expect(openScopes(app)).toEqual([]);
    first.finish();
    second.finish();
    expect(await Promise.all([first.done, second.done])).toEqual(['done', 'done']);
  });

  it('waits without a limit for Infinity', async () => {
    const app = application();
    const { done, finish, signal } = working(app);
    const draining = drainScopes(app, { timeoutMs: Infinity });
    // A timer for Infinity would fire within a millisecond.
    await new Promise((resolve) => void setTimeout(resolve, 5));
    expect(signal().aborted).toBe(false);
    finish();
    expect(await draining).toBe(0);
    await done;
  });

  it('returns the outcome of the first call when called again', async () => {
    const app = application();
    const { done, finish, signal } = working(app);
    const both = [drainScopes(app), drainScopes(app, { timeoutMs: 0, abortTimeoutMs: 0 })];
    // The times of the second call would be over by then.
    await new Promise((resolve) => void setTimeout(resolve, 5));
    expect(signal().aborted).toBe(false);
    finish();
    expect(await Promise.all(both)).toEqual([0, 0]);
    expect(await done).toBe('done');
  });

  it('leaves other containers alone', async () => {
    const [stopping, other] = [application(), application()];
    await drainScopes(stopping);
    expect(await inScope(other, {}, () => 1)).toBe(1);
  });

  it.each([-1, Number.NaN, '5s', null])('refuses %s as a time', async (time) => {
    const options = { timeoutMs: time as number };
    await expect(drainScopes(application(), options)).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });
});
