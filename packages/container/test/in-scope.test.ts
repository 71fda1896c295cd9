import { describe, expect, it, vi } from 'vitest';
import { Container, currentScope, DisposeError, type IContainer } from '../src/index.js';
import { openScopes } from '../src/tools.js';
import { inScope } from '../src/work.js';
import { failing, gate, holding, logged, turn } from './support/disposers.js';

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

  it.each([
    [
      'throws',
      (error: Error) => {
        throw error;
      },
    ],
    [
      'rejects',
      async (error: Error) => {
        throw error;
      },
    ],
  ])('disposes the scope when the work %s, and rejects with that very error', async (_how, fail) => {
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
