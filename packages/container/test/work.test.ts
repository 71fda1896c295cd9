import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, vi } from 'vitest';
import { Container, ContainerError, currentScope, DisposeError, type IContainer, runInScope } from '../src/index.js';
import { openScopes } from '../src/tools.js';
import { drainScopes, inScope } from '../src/work.js';
import { FAILING, failing, gate, holding, logged, turn } from './support/disposers.js';

const openScope = (tag = 'request') => new Container().createScope({ tags: [tag] });

describe('the current scope', () => {
  it('is there after every await, in timers and in what the work starts without waiting', async () => {
    const request = openScope();
    const seen: IContainer[] = [];
    const unwaited: Promise<unknown>[] = [];
    await runInScope(request, async () => {
      await turn();
      seen.push(currentScope());
      await new Promise<void>((resolve) => void setTimeout(resolve));
      seen.push(currentScope());
      unwaited.push(turn().then(() => seen.push(currentScope())));
    });
    await Promise.all(unwaited);
    expect(seen).toEqual([request, request, request]);
  });

  it('is a coded error outside, which says how to have one', () => {
    const error = (() => {
      try {
        return currentScope();
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(ContainerError);
    expect(error).toMatchObject({ code: 'AMBIT_NO_SCOPE', hint: expect.stringContaining('runInScope') });
  });

  it('is opt-in: neither opening a scope nor resolving from it makes it the current one', () => {
    const request = openScope().register('IProbe', () => {
      expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
      return 'asked';
    });
    expect(request.resolve('IProbe')).toBe('asked');
  });

  it('is unset when the work is done, however it was done', async () => {
    runInScope(openScope(), () => {});
    expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
    expect(() => runInScope(openScope(), () => expect.fail('the work failed'))).toThrow('the work failed');
    expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
    await runInScope(openScope(), turn);
    expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
  });

  it('gives back what the work returns, or throws what it throws', async () => {
    const error = new RangeError('unchanged');
    expect(runInScope(openScope(), () => 42)).toBe(42);
    await expect(runInScope(openScope(), () => Promise.reject(error))).rejects.toBe(error);
  });

  it('is each request its own, however they interleave', async () => {
    const app = new Container();
    const gates = Array.from({ length: 10 }, gate);
    const requests = gates.map(() => app.createScope({ tags: ['request'] }));
    const seen = requests.map((request, i) =>
      runInScope(request, async () => {
        const before = currentScope();
        await gates[i]?.opened;
        return [before, currentScope()];
      }),
    );
    for (const i of [3, 9, 0, 7, 1, 8, 2, 6, 4, 5]) {
      gates[i]?.open();
      await turn();
    }
    for (const [i, both] of (await Promise.all(seen)).entries()) {
      expect(both[0]).toBe(requests[i]);
      expect(both[1]).toBe(requests[i]);
    }
  });

  it('is available in disposers, beside other stores of the caller', async () => {
    const seen: unknown[] = [];
    const trace = new AsyncLocalStorage<string>();
    const request = openScope();
    const look = async () => {
      await turn();
      seen.push(currentScope() === request, trace.getStore());
    };
    request.defer(look);
    request.defer(look);
    await trace.run('trace 7', () => runInScope(request, () => request.dispose()));
    expect(seen).toEqual([true, 'trace 7', true, 'trace 7']);
  });

  it('is what the caller says, where there is none', () => {
    const request = openScope();
    expect([currentScope(undefined), currentScope('none')]).toEqual([undefined, 'none']);
    expect(runInScope(request, () => currentScope(undefined))).toBe(request);
  });

  it('may be any object of the shape of a container', () => {
    const foreign: IContainer = {
      resolve: () => undefined as never,
      createScope: () => foreign,
      register: () => foreign,
      dispose: () => {},
    };
    expect(runInScope(foreign, currentScope)).toBe(foreign);
  });
});

const application = () => new Container({ tags: ['application'] });

/** Work that settles only when its signal aborts, as a fetch or a statement would. */
const untilAborted = (_scope: IContainer, signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });

describe('inScope', () => {
  it('runs the work in a new scope with the tags, and returns its result', async () => {
    const app = application();
    const result = await inScope(app, { tags: ['job', 'nightly'] }, async (scope) => {
      expect(scope.parent).toBe(app);
      expect(scope.tags).toEqual(['job', 'nightly']);
      return 42;
    });
    expect(result).toBe(42);
  });

  it('tags the scope with job where no tags are given', async () => {
    expect(await inScope(application(), {}, (scope) => scope.tags)).toEqual(['job']);
  });

  it('disposes the scope after the work, and before it resolves', async () => {
    const app = application();
    const log: string[] = [];
    await inScope(app, {}, async (scope) => {
      scope.defer(async () => {
        await turn();
        log.push('disposed');
      });
      await turn();
      log.push('work done');
    });
    expect(log).toEqual(['work done', 'disposed']);
    expect(openScopes(app)).toEqual([]);
  });

  it.each(FAILING)('disposes the scope when the work %s, and rejects with that very error', async (_how, fail) => {
    const app = application();
    const log: string[] = [];
    const error = new RangeError('unchanged');
    const work = inScope(app, {}, (scope) => {
      holding(scope, logged(log, 'IUsers'));
      return fail(error);
    });
    await expect(work).rejects.toBe(error);
    expect(log).toEqual(['IUsers']);
    expect(openScopes(app)).toEqual([]);
  });

  it('registers the data of the job before the work starts, and waits for that', async () => {
    const register = async (scope: Container) => {
      await turn();
      scope.register('IJobId', () => 'job 7');
    };
    expect(await inScope(application(), { register }, (scope) => scope.resolve('IJobId'))).toBe('job 7');
  });

  it('disposes the scope when the data cannot be registered, and does not start the work', async () => {
    const app = application();
    const work = vi.fn<() => void>();
    const register = () => Promise.reject(new Error('no tenant'));
    await expect(inScope(app, { register }, work)).rejects.toThrow('no tenant');
    expect(work).not.toHaveBeenCalled();
    expect(openScopes(app)).toEqual([]);
  });

  it('makes the scope the current one only when asked to, also while it is disposed', async () => {
    const app = application();
    const seen: unknown[] = [];
    await inScope(app, { current: true }, async (scope) => {
      scope.defer(() => seen.push(currentScope() === scope));
      await turn();
      seen.push(currentScope() === scope);
    });
    expect(seen).toEqual([true, true]);
    await inScope(app, {}, () => expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE'));
  });
});

it('inScope starts the work before it returns, where there is nothing to register', () => {
  const work = vi.fn<() => void>();
  void inScope(application(), {}, work);
  expect(work).toHaveBeenCalledOnce();
});

describe('inScope, when the scope fails to dispose', () => {
  const cleanup = new Error('socket is closed');

  it('still returns the result of the work, and reports the failure', async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const work = inScope(application(), { onError }, (scope) => {
      holding(scope, failing(cleanup));
      return 'done';
    });
    expect(await work).toBe('done');
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.any(DisposeError));
    expect(onError.mock.lastCall?.[0]).toMatchObject({ errors: [cleanup] });
  });

  it('still rejects with the error of the work', async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const error = new Error('the work failed');
    const work = inScope(application(), { onError }, (scope) => {
      holding(scope, failing(cleanup));
      throw error;
    });
    await expect(work).rejects.toBe(error);
    expect(onError).toHaveBeenCalledOnce();
  });

  it.each([
    ['there is no onError', undefined],
    ['onError rejects', () => Promise.reject(new Error('the log is full'))],
  ])('emits a process warning where %s', async (_where, onError) => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue();
    await inScope(application(), onError ? { onError } : {}, (scope) => void holding(scope, failing(cleanup)));
    expect(emitWarning.mock.calls).toMatchObject([[{ code: 'AMBIT_DISPOSE_FAILED' }]]);
    emitWarning.mockRestore();
  });
});

describe('the signal of inScope', () => {
  it('aborts with the given one, for the same reason; the scope stays open until the work settles', async () => {
    const app = application();
    const controller = new AbortController();
    const { opened, open } = gate();
    const work = inScope(app, { signal: controller.signal }, async (_scope, signal) => {
      await opened;
      signal.throwIfAborted();
    });
    const reason = new Error('the client disconnected');
    controller.abort(reason);
    await turn();
    expect(openScopes(app)).toHaveLength(1);
    open();
    await expect(work).rejects.toBe(reason);
    expect(openScopes(app)).toEqual([]);
  });

  it('opens no scope when it has aborted before', async () => {
    const app = application();
    const createScope = vi.spyOn(app, 'createScope');
    const reason = new Error('too late');
    await expect(inScope(app, { signal: AbortSignal.abort(reason) }, () => 1)).rejects.toBe(reason);
    expect(createScope).not.toHaveBeenCalled();
  });

  it('does not start the work when it aborts while the data is registered', async () => {
    const app = application();
    const controller = new AbortController();
    const work = vi.fn<() => void>();
    const register = () => controller.abort(new Error('cancelled'));
    await expect(inScope(app, { signal: controller.signal, register }, work)).rejects.toThrow('cancelled');
    expect(work).not.toHaveBeenCalled();
    expect(openScopes(app)).toEqual([]);
  });

  it('never aborts after the work, and leaves no listener on a long-lived signal', async () => {
    const controller = new AbortController();
    const [add, remove] = [
      vi.spyOn(controller.signal, 'addEventListener'),
      vi.spyOn(controller.signal, 'removeEventListener'),
    ];
    const signal = await inScope(application(), { signal: controller.signal }, (_scope, own) => own);
    controller.abort();
    expect(signal.aborted).toBe(false);
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(add.mock.calls.map(([, listener]) => listener));
    expect(add).toHaveBeenCalledOnce();
  });
});

describe('work within work', () => {
  it('is waited for, before the outer scope is disposed', async () => {
    const app = application();
    const log: string[] = [];
    const { opened, open } = gate();
    const connection = inScope(app, { tags: ['connection'] }, (scope) => {
      scope.defer(() => log.push('connection disposed'));
      void inScope(scope, { tags: ['message'] }, async (message) => {
        message.defer(() => log.push('message disposed'));
        await opened;
      });
    });
    await turn();
    expect(log).toEqual([]);
    open();
    await connection;
    expect(log).toEqual(['message disposed', 'connection disposed']);
    expect(openScopes(app)).toEqual([]);
  });

  it('is refused once the outer work is done', async () => {
    let connection!: Container;
    const { opened, open } = gate();
    const outer = inScope(application(), {}, (scope) => {
      connection = scope;
      void inScope(scope, {}, () => opened);
    });
    await turn();
    await expect(inScope(connection, {}, () => 1)).rejects.toMatchObject({ code: 'AMBIT_DRAINING' });
    open();
    await outer;
  });

  it('aborts with the outer work', async () => {
    const app = application();
    const controller = new AbortController();
    const inner: Promise<unknown>[] = [];
    const outer = inScope(app, { signal: controller.signal }, (scope) => {
      inner.push(inScope(scope, {}, untilAborted).catch((error: unknown) => error));
    });
    await turn();
    const reason = new Error('the connection closed');
    controller.abort(reason);
    expect(await Promise.all(inner)).toEqual([reason]);
    await outer;
    expect(openScopes(app)).toEqual([]);
  });

  it('may be a hundred at once without a warning about listeners', async () => {
    const onWarning = vi.fn<(warning: Error) => void>();
    process.on('warning', onWarning);
    await inScope(application(), {}, async (scope) => {
      await Promise.all(Array.from({ length: 100 }, () => inScope(scope, {}, turn)));
    });
    await turn();
    process.off('warning', onWarning);
    expect(onWarning).not.toHaveBeenCalled();
  });
});

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
