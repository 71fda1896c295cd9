import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { decorate, type DisposeError, onDispose, onStart, Registration, singleton } from '../src/index.js';
import { gate, logged, turn } from './support/disposers.js';
import { heapAfterCollection } from './support/memory.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const disposable = () => ({ dispose: vi.fn<() => void>() });

describe('a singleton from an async factory', () => {
  it('is a promise in resolve, the same each time', async () => {
    const pool = disposable();
    const make = vi.fn<() => Promise<typeof pool>>(() => Promise.resolve(pool));
    const app = openApplication(Registration.fromFactory(make).pipe(singleton()).to('IPool'));

    expect(app.resolve('IPool')).toBeInstanceOf(Promise);
    expect(app.resolve('IPool')).toBe(app.resolve('IPool'));
    expect(await app.resolve('IPool')).toBe(pool);
    expect(make).toHaveBeenCalledOnce();
  });

  it.each([
    ['dispose()', 'dispose'],
    ['Symbol.dispose', Symbol.dispose],
    ['Symbol.asyncDispose', Symbol.asyncDispose],
  ])('has what it resolves to disposed, in its place among the others: %s', async (_, name) => {
    const log: string[] = [];
    const app = openApplication(
      logged(log, 'first').to('IFirst'),
      Registration.fromFactory(() => Promise.resolve({ [name]: () => void log.push('pool') }))
        .pipe(singleton())
        .to('IPool'),
      logged(log, 'last').to('ILast'),
    );
    for (const key of ['IFirst', 'IPool', 'ILast']) await app.resolve(key);
    await app.dispose();

    expect(log).toEqual(['last', 'pool', 'first']);
  });

  it('is disposed once it is there, where dispose() comes before', async () => {
    const pool = disposable();
    const { opened, open } = gate();
    const app = openApplication(
      Registration.fromFactory(() => opened.then(() => pool))
        .pipe(singleton())
        .to('IPool'),
    );
    void app.resolve('IPool');
    let isDisposed = false;
    const disposing = app.dispose().then(() => (isDisposed = true));
    await turn();
    expect(isDisposed).toBe(false);

    open();
    await disposing;
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('does not make dispose() fail where it rejects while that waits', async () => {
    const { opened, open } = gate();
    const app = openApplication(
      Registration.fromFactory(() => opened.then(() => Promise.reject(new Error('no database'))))
        .pipe(singleton())
        .to('IPool'),
    );
    const resolved = app.resolve('IPool');
    const disposing = app.dispose();
    open();

    await expect(disposing).resolves.toBeUndefined();
    await expect(resolved).rejects.toThrow('no database');
  });

  it('that rejects is made again by the next resolve', async () => {
    const pool = disposable();
    let attempts = 0;
    const app = openApplication(
      Registration.fromFactory(() =>
        ++attempts < 3 ? Promise.reject(new Error(`attempt ${attempts}`)) : Promise.resolve(pool),
      )
        .pipe(singleton())
        .to('IPool'),
    );
    await expect(app.resolve('IPool')).rejects.toThrow('attempt 1');
    await expect(app.resolve('IPool')).rejects.toThrow('attempt 2');
    expect(await app.resolve('IPool')).toBe(pool);
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('that rejects leaves nothing behind: 2,000 times', async () => {
    const failing = vi.fn<() => void>();
    const app = openApplication(
      Registration.fromFactory(() =>
        Promise.reject(Object.assign(new Error('no database'), { page: Buffer.alloc(20_000, 'x').toString() })),
      )
        .pipe(singleton(), onDispose(failing))
        .to('IPool'),
    );
    const before = await heapAfterCollection();
    for (let i = 0; i < 2000; i++) await Promise.resolve(app.resolve('IPool')).catch(() => {});
    const grown = (await heapAfterCollection()) - before;

    // All of them together are 40 MB.
    expect(grown / 1e6).toBeLessThan(10);
    await app.dispose();
    expect(failing).not.toHaveBeenCalled();
  });

  it('gives onDispose what it promised to be: the promise', async () => {
    const end = vi.fn<(pool: Promise<unknown>) => Promise<void>>(async (pool) => void (await pool));
    const app = openApplication(
      Registration.fromFactory(() => Promise.resolve(1))
        .pipe(singleton(), onDispose(end))
        .to('IPool'),
    );
    const made = app.resolve('IPool');
    await app.dispose();

    expect(end.mock.calls).toEqual([[made]]);
  });

  it('leaves what it resolves to with the scope around that owns it', async () => {
    const pool = disposable();
    const app = openApplication(
      Registration.fromFactory(() => Promise.resolve(pool))
        .pipe(singleton())
        .to('IPool'),
      Registration.fromFactory((same) => Promise.resolve(same), ['IPool'])
        .pipe(singleton(), perRequest)
        .to('ISame'),
    );
    const request = openRequest(app);
    expect(await request.resolve('ISame')).toBe(pool);
    await request.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('that never settles keeps dispose() for five seconds at most, however many there are', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const log: string[] = [];
    const { opened, open } = gate();
    const late = Registration.fromFactory(() => opened.then(() => ({ dispose: () => void log.push('late') })));
    const app = openApplication(
      logged(log, 'first').to('IFirst'),
      late.pipe(singleton()).to('IPool'),
      late.pipe(singleton()).to('IQueue'),
      logged(log, 'last').to('ILast'),
    );
    for (const key of ['IFirst', 'IPool', 'IQueue', 'ILast']) app.resolve(key);
    const disposing = app.dispose().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(4999);
    expect(log).toEqual(['last']);
    await vi.advanceTimersByTimeAsync(1);

    const { failures, message } = (await disposing) as DisposeError;
    expect(log).toEqual(['last', 'first']);
    expect(failures).toMatchObject([
      { key: 'IQueue', error: { code: 'AMBIT_START_FAILED' } },
      { key: 'IPool', error: { code: 'AMBIT_START_FAILED' } },
    ]);
    expect(message).toContain('its factory was still running after 5000 ms');
    expect(vi.getTimerCount()).toBe(0);

    open();
    await turn();
    expect(log).toEqual(['last', 'first', 'late', 'late']);
  });

  it('that settles in time leaves no timer behind', async () => {
    // Before the timers are replaced, as the clock of an application has one.
    const app = openApplication(
      Registration.fromFactory(async () => disposable())
        .pipe(singleton())
        .to('IPool'),
    );
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const pool = app.resolve<Promise<{ dispose(): void }>>('IPool');
    await app.dispose();

    expect((await pool).dispose).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('what received the promise of an async factory that rejects', () => {
  const fails = () => {
    let attempts = 0;
    return Registration.fromFactory(() =>
      ++attempts < 2 ? Promise.reject(new Error('no database')) : Promise.resolve('pool'),
    ).pipe(singleton());
  };
  class Users {
    constructor(readonly pool: Promise<string>) {}
  }
  class Page {
    constructor(readonly users: Users) {}
  }
  const users = Registration.fromClass(Users, ['IPool']);
  const page = Registration.fromClass(Page, ['IUsers']).pipe(singleton());

  it.each([
    ['a singleton', users.pipe(singleton()), page],
    ['a transient', users, page],
    ['in a request', users.pipe(singleton(), perRequest), page.pipe(perRequest)],
  ])('is made again with the next one, and so is what has it: %s', async (_, ofUsers, ofPage) => {
    const app = openApplication(
      fails().to('IPool'),
      ofUsers.to('IUsers'),
      ofPage.to('IPage'),
      Registration.fromFactory(() => ({}))
        .pipe(singleton(), perRequest)
        .to('IOther'),
    );
    const request = openRequest(app);
    const other = request.resolve('IOther');
    await expect(request.resolve<Page>('IPage').users.pool).rejects.toThrow('no database');

    const again = request.resolve<Page>('IPage');
    expect(await again.users.pool).toBe('pool');
    expect(request.resolve('IPage')).toBe(again);
    expect(request.resolve('IOther')).toBe(other);
  });

  it('stays as it is where it made something else of it', async () => {
    const made = vi.fn<() => void>();
    const app = openApplication(
      fails().to('IPool'),
      Registration.fromFactory(
        async (pool) => {
          made();
          return await (pool as Promise<string>).catch(() => 'fallback');
        },
        ['IPool'],
      )
        .pipe(singleton())
        .to('IStore'),
    );
    expect(await app.resolve('IStore')).toBe('fallback');
    expect(await app.resolve('IStore')).toBe('fallback');
    expect(made).toHaveBeenCalledOnce();
  });
});

describe('start() with async factories', () => {
  it('awaits what async factories make', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const app = openApplication(
      Registration.fromFactory(() => opened.then(() => log.push('connected')))
        .pipe(singleton())
        .to('IPool'),
    );
    void app.resolve('IPool');
    const starting = app.start().then(() => log.push('started'));
    await turn();
    open();
    await starting;

    expect(log).toEqual(['connected', 'started']);
  });

  it('makes those with onStart, fails where one rejects, and the next start makes it again', async () => {
    const cause = new Error('no database');
    const log: string[] = [];
    let attempts = 0;
    const app = openApplication(
      Registration.fromFactory(() => (++attempts === 1 ? Promise.reject(cause) : Promise.resolve('pool')))
        .pipe(
          singleton(),
          onStart(async (pool) => log.push(await pool)),
        )
        .to('IPool'),
    );
    const error: unknown = await app.start().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool', cause });

    await app.start();
    expect(log).toEqual(['pool']);
  });

  it('fails where one without onStart is pending, and rejects then', async () => {
    const cause = new Error('no database');
    const { opened, open } = gate();
    const app = openApplication(
      Registration.fromFactory(() => opened.then(() => Promise.reject(cause)))
        .pipe(singleton())
        .to('IPool'),
    );
    void app.resolve('IPool');
    const starting = app.start();
    open();
    await expect(starting).rejects.toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool', cause });
  });
});

describe('an async factory that was resolved and has failed before start()', () => {
  const failing = (attempts: { left: number }) =>
    Registration.fromFactory(async () => {
      await Promise.resolve();
      if (attempts.left-- > 0) throw new Error('not yet');
      return {};
    }).pipe(singleton());

  it('is reported by start(), once', async () => {
    const app = openApplication(failing({ left: 1 }).to('IPool'));
    await expect(app.resolve<Promise<unknown>>('IPool')).rejects.toThrow('not yet');

    await expect(app.start()).rejects.toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool' });
    await expect(app.start()).resolves.toBeUndefined();
  });

  it('is forgotten when it has succeeded since', async () => {
    const app = openApplication(failing({ left: 1 }).to('IPool'));
    await expect(app.resolve<Promise<unknown>>('IPool')).rejects.toThrow('not yet');
    await app.resolve<Promise<unknown>>('IPool');

    await expect(app.start()).resolves.toBeUndefined();
  });
});

/** A query builder, which sends its statement when it is awaited. */
function builder() {
  return { sent: vi.fn<() => void>(), disposed: vi.fn<() => void>() };
}

it.each<[string, (made: ReturnType<typeof builder>) => Registration<unknown>]>([
  ['of a factory', (made) => Registration.fromFactory(() => thenable(made))],
  ['of a decorator', (made) => Registration.fromFactory(() => ({})).pipe(decorate(() => thenable(made)))],
  ['that is started', (made) => Registration.fromFactory(() => thenable(made)).pipe(onStart(() => undefined))],
])('a service with a method then() is no promise: nobody calls it, and it is disposed: %s', async (_, registration) => {
  const made = builder();
  const app = openApplication(registration(made).pipe(singleton()).to('IQuery'));
  app.resolve('IQuery');
  await app.start();
  await app.dispose();

  expect(made.sent).not.toHaveBeenCalled();
  expect(made.disposed).toHaveBeenCalledOnce();
});

it('a promise of another kind, such as one of another realm, is awaited as any other', async () => {
  const { disposed } = builder();
  const settled = Promise.resolve({ dispose: disposed });
  // oxlint-disable-next-line no-thenable -- that is what it is about
  const foreign = { then: settled.then.bind(settled), [Symbol.toStringTag]: 'Promise' };
  const app = openApplication(
    Registration.fromFactory(() => foreign)
      .pipe(singleton())
      .to('IPool'),
  );
  app.resolve('IPool');
  await app.dispose();

  expect(disposed).toHaveBeenCalledOnce();
});

it('what a disposer returns is awaited, whatever it is', async () => {
  let isOver = false;
  const over = {
    // oxlint-disable-next-line no-thenable -- that is what it is about
    then(resolve: () => void) {
      isOver = true;
      resolve();
    },
  };
  const app = openApplication(
    Registration.fromFactory(() => ({ dispose: () => over }))
      .pipe(singleton())
      .to('IPool'),
  );
  app.resolve('IPool');
  await app.dispose();

  expect(isOver).toBe(true);
});

function thenable({ sent, disposed }: ReturnType<typeof builder>) {
  return {
    // oxlint-disable-next-line no-thenable -- that is what it is about
    then(resolve: () => void) {
      sent();
      resolve();
    },
    dispose: disposed,
  };
}
