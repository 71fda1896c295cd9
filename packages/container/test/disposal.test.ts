import { AsyncLocalStorage } from 'node:async_hooks';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Container, ContainerError, decorate, onDispose, Registration, singleton } from '../src/index.js';
import { FAILING, failing, gate, holding, logged, slow, turn } from './support/disposers.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const service = () => ({ dispose: vi.fn<() => void>() });
const aRequest = () => new Container({ tags: ['application'] }).createScope({ tags: ['request'] });

describe('how an instance is disposed', () => {
  it.each([
    ['Symbol.asyncDispose before all else', [Symbol.asyncDispose, Symbol.dispose, 'dispose'], Symbol.asyncDispose],
    ['Symbol.dispose before a dispose method', [Symbol.dispose, 'dispose'], Symbol.dispose],
    ['a dispose method', ['dispose'], 'dispose'],
  ])('by %s, and by nothing else', async (_, methods, expected) => {
    const called: unknown[] = [];
    const instance = Object.fromEntries(methods.map((method) => [method, () => void called.push(method)]));
    const owner = aRequest().addRegistration(
      Registration.fromFactory(() => instance)
        .pipe(singleton())
        .to('it'),
    );
    owner.resolve('it');
    await owner.dispose();
    expect(called).toEqual([expected]);
  });

  it.each(['dispose', Symbol.dispose, Symbol.asyncDispose])('%s that is no function is no disposer', async (name) => {
    const owner = aRequest().addRegistration(
      Registration.fromFactory(() => ({ [name]: 'tomorrow' }))
        .pipe(singleton())
        .to('it'),
    );
    owner.resolve('it');
    await expect(owner.dispose()).resolves.toBeUndefined();
  });

  it('what is no function does not hide the next disposer', async () => {
    const instance = { ...service(), [Symbol.asyncDispose]: true };
    const owner = aRequest().addRegistration(
      Registration.fromFactory(() => instance)
        .pipe(singleton())
        .to('it'),
    );
    owner.resolve('it');
    await owner.dispose();
    expect(instance.dispose).toHaveBeenCalledOnce();
  });

  it('several onDispose run in the order of their piping, the next when the one before is done', async () => {
    const log: string[] = [];
    const slowly = onDispose(async () => {
      log.push('flush');
      await Promise.resolve();
      log.push('flushed');
    });
    const owner = aRequest().addRegistration(
      Registration.fromFactory(service)
        .pipe(singleton(), slowly)
        .pipe(onDispose(() => log.push('close')))
        .to('it'),
    );
    owner.resolve('it');
    await owner.dispose();
    expect(log).toEqual(['flush', 'flushed', 'close']);
  });

  it.each([undefined, null, 0, '', false])('onDispose disposes a singleton that is %j, too', async (value) => {
    const end = vi.fn<(instance: unknown) => void>();
    const owner = aRequest().addRegistration(
      Registration.fromFactory<unknown>(() => value)
        .pipe(singleton(), onDispose(end))
        .to('it'),
    );
    owner.resolve('it');
    await owner.dispose();
    expect(end).toHaveBeenCalledExactlyOnceWith(value);
  });
});

describe('await using', () => {
  it('disposes the scope with the block', async () => {
    const log: string[] = [];
    {
      await using scoped = aRequest().addRegistration(logged(log, 'IUsers').to('IUsers'));
      scoped.resolve('IUsers');
      log.push('the work');
    }
    expect(log).toEqual(['the work', 'IUsers']);
  });

  it('disposes the scope when the block throws, and rethrows the error', async () => {
    const log: string[] = [];
    const work = async () => {
      await using scoped = aRequest().addRegistration(logged(log, 'IUsers').to('IUsers'));
      scoped.resolve('IUsers');
      throw new RangeError('the work failed');
    };
    await expect(work()).rejects.toThrow(RangeError);
    expect(log).toEqual(['IUsers']);
  });

  it('keeps both errors when the block throws and a disposer fails', async () => {
    const [worse, bad] = [new Error('the disposer failed'), new Error('the work failed')];
    const work = async () => {
      await using scoped = aRequest().addRegistration(failing(worse).to('IUsers'));
      scoped.resolve('IUsers');
      throw bad;
    };
    const error: unknown = await work().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'SuppressedError', suppressed: bad });
    expect((error as SuppressedError).error).toMatchObject({ code: 'AMBIT_DISPOSE_FAILED', errors: [worse] });
  });
});

const reason = new Error('The payment was declined');

/** Notes with which arguments it was disposed. */
const noting = (got: unknown[], name: symbol | 'dispose') =>
  Registration.fromFactory(() => ({ [name]: (...args: unknown[]) => void got.push(...args) })).pipe(singleton());

describe('the reason of dispose(reason)', () => {
  it.each(['dispose', Symbol.dispose, Symbol.asyncDispose] as const)('is passed to %s of an instance', async (name) => {
    const got: unknown[] = [];
    const app = openApplication(noting(got, name).pipe(perRequest).to('INoting'));
    const request = openRequest(app);
    request.resolve('INoting');
    await request.dispose(reason);

    expect(got).toEqual([reason]);
  });

  it('is passed to what an async factory made, to onDispose callbacks and to work given to defer()', async () => {
    const got: unknown[] = [];
    const app = openApplication(
      Registration.fromFactory(async () => ({ dispose: (why: unknown) => void got.push(['async', why]) }))
        .pipe(singleton(), perRequest)
        .to('IAsync'),
      Registration.fromFactory(() => 'made')
        .pipe(
          singleton(),
          perRequest,
          onDispose((made, why) => void got.push([made, why])),
          decorate((made) => `${made} and wrapped`),
          onDispose((made, why) => void got.push([made, why])),
        )
        .to('IMade'),
    );
    const request = openRequest(app);
    await request.resolve('IAsync');
    request.resolve('IMade');
    request.defer((why) => void got.push(['deferred', why]));
    await request.dispose(reason);

    expect(got).toEqual([
      ['deferred', reason],
      ['made', reason],
      ['made and wrapped', reason],
      ['async', reason],
    ]);
  });

  it('is passed to the scopes below that are disposed with it, but a scope disposed before has its own', async () => {
    const got: unknown[] = [];
    const app = openApplication();
    const request = openRequest(app);
    const [first, second] = [openTransaction(request), openTransaction(request)];
    first.defer((why) => void got.push(['first', why]));
    second.defer((why) => void got.push(['second', why]));
    request.defer((why) => void got.push(['request', why]));
    await first.dispose();
    await request.dispose(reason);
    await app.dispose();

    expect(got).toEqual([
      ['first', undefined],
      ['second', reason],
      ['request', reason],
    ]);
  });

  it('of a second call changes nothing, and without one nothing failed', async () => {
    const got: unknown[] = [];
    const app = openApplication();
    app.defer((why) => void got.push(why));
    await Promise.all([app.dispose(), app.dispose(reason)]);

    expect(got).toEqual([undefined]);
  });
});

describe('a second dispose', () => {
  it('gets the same promise, at once and later, also from await using, and disposes nothing twice', async () => {
    const log: string[] = [];
    const app = holding(new Container(), slow(log, 'pool'));
    const first = app.dispose();
    expect(app.dispose()).toBe(first);
    expect(app[Symbol.asyncDispose]()).toBe(first);
    await first;
    expect(app.dispose()).toBe(first);
    expect(log).toEqual(['pool is disposing', 'pool disposed']);
  });

  it('made by a disposer that does not await it does no harm', async () => {
    const log: string[] = [];
    const app = holding(new Container(), logged(log, 'pool'));
    let again: Promise<void> | undefined;
    app.defer(() => void (again = app.dispose()));
    const first = app.dispose();
    await first;
    expect(again).toBe(first);
    expect(log).toEqual(['pool']);
  });
});

describe('a scope that is disposed during a construction', () => {
  it.each([
    ['the constructor disposed its scope', (request: Container) => request],
    ['the constructor disposed the scope around it', (request: Container) => request.parent],
  ])('%s: resolve is refused, and the instance is disposed once, before the promise settles', async (_, which) => {
    const log: string[] = [];
    const request = holding(new Container().createScope(), logged(log, 'older'));
    let disposed: Promise<void> | undefined;
    class Impatient {
      constructor() {
        disposed = which(request)?.dispose();
      }
      dispose(): void {
        log.push('impatient');
      }
    }
    request.addRegistration(Registration.fromClass(Impatient).pipe(singleton()).to('it'));
    expect(() => request.resolve('it')).toThrow('AMBIT_DISPOSED');
    await disposed;
    expect(log).toEqual(['impatient', 'older']);
  });

  it('a constructor may open a scope, use it and dispose it', async () => {
    const log: string[] = [];
    class Migrated {
      readonly disposed: Promise<void>;
      constructor() {
        const job = holding(app.createScope({ tags: ['job'] }), logged(log, 'migration'));
        this.disposed = job.dispose();
        log.push('made');
      }
    }
    const app = new Container().addRegistration(Registration.fromClass(Migrated).pipe(singleton()).to('it'));
    await app.resolve<Migrated>('it').disposed;
    expect(log).toEqual(['migration', 'made']);
  });
});

function family() {
  const app = new Container({ tags: ['application'] });
  const request = app.createScope({ tags: ['request'] });
  return { app, request, transaction: request.createScope({ tags: ['transaction'] }) };
}

describe('the order of disposal', () => {
  it('the instances of a scope are disposed one after another, the newest first', async () => {
    const log: string[] = [];
    const app = new Container();
    for (const key of ['A', 'B', 'C']) holding(app, slow(log, key));
    await app.dispose();
    expect(log).toEqual([
      'C is disposing',
      'C disposed',
      'B is disposing',
      'B disposed',
      'A is disposing',
      'A disposed',
    ]);
  });

  it('synchronous disposers keep their turn among asynchronous ones', async () => {
    const log: string[] = [];
    const app = new Container();
    const disposers = [logged(log, 'A'), slow(log, 'B'), logged(log, 'C'), slow(log, 'D')];
    for (const end of disposers) holding(app, end);
    await app.dispose();
    expect(log).toEqual(['D is disposing', 'D disposed', 'C', 'B is disposing', 'B disposed', 'A']);
  });

  it('children do not wait for one another, and their parent waits for all of them', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const app = holding(new Container(), logged(log, 'application'));
    holding(app.createScope(), slow(log, 'older'));
    const newer = slow(log, 'newer', () => opened);
    holding(app.createScope(), newer);
    const disposed = app.dispose();
    await turn();
    await turn();
    expect(log).toEqual(['newer is disposing', 'older is disposing', 'older disposed']);
    open();
    await disposed;
    expect(log.slice(3)).toEqual(['newer disposed', 'application']);
  });

  it('a parent waits for a child that is being disposed already, and does not dispose it twice', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const { app, request } = family();
    holding(app, logged(log, 'pool'));
    const users = slow(log, 'users', () => opened);
    holding(request, users);
    const child = request.dispose();
    const parent = app.dispose();
    await turn();
    expect(log).toEqual(['users is disposing']);
    open();
    await Promise.all([child, parent]);
    expect(log).toEqual(['users is disposing', 'users disposed', 'pool']);
  });

  it('what the caller of dispose keeps in an AsyncLocalStorage is available in every disposer', async () => {
    const log: unknown[] = [];
    const store = new AsyncLocalStorage<string>();
    const app = new Container();
    const looking = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onDispose(async () => {
        await turn();
        log.push(store.getStore());
      }),
    );
    for (const owner of [app, app.createScope()]) {
      owner.addRegistration(looking.to('A'), looking.to('B'));
      owner.resolve('A');
      owner.resolve('B');
    }
    await store.run('trace 7', () => app.dispose());
    expect(log).toEqual(Array(4).fill('trace 7'));
  });

  it('a disposer is awaited whatever realm its promise comes from', async () => {
    const log: string[] = [];
    const Foreign = runInNewContext('Promise') as PromiseConstructor;
    const file = Registration.fromFactory(() => ({
      dispose: () => Foreign.resolve(turn()).then(() => log.push('file')),
    }));
    const app = holding(new Container(), logged(log, 'pool'));
    await holding(app, file.pipe(singleton())).dispose();
    expect(log).toEqual(['file', 'pool']);
  });
});

describe('with synchronous disposers, everything is disposed when dispose() returns', () => {
  it('in an application that was started', async () => {
    const log: string[] = [];
    const app = holding(new Container(), logged(log, 'pool'));
    await app.start();
    const disposed = app.dispose();
    expect(log).toEqual(['pool']);
    await disposed;
  });
});

describe('a callback given to defer', () => {
  it('runs in its turn among the instances, the newest first', async () => {
    const log: string[] = [];
    const request = holding(new Container().createScope(), logged(log, 'IUsers'));
    request.defer(() => log.push('deferred'));
    holding(request, logged(log, 'IOrders'));
    await request.dispose();
    expect(log).toEqual(['IOrders', 'deferred', 'IUsers']);
  });

  it('runs once, called with nothing, though the scope is disposed twice', async () => {
    const end = vi.fn<(...given: unknown[]) => void>();
    const request = new Container().createScope();
    request.defer(end);
    expect(end).not.toHaveBeenCalled();
    await Promise.all([request.dispose(), request.dispose()]);
    expect(end).toHaveBeenCalledOnce();
    expect(end.mock.lastCall?.[0]).toBeUndefined();
  });

  it.each(FAILING)('does not keep anything else from disposal when it %s', async (_, cleanup) => {
    const log: string[] = [];
    const request = holding(new Container().createScope(), logged(log, 'IUsers'));
    request.defer(() => cleanup(new Error('not now')));
    holding(request, failing(new Error('nor me')));
    await expect(request.dispose()).rejects.toMatchObject({
      code: 'AMBIT_DISPOSE_FAILED',
      errors: [{ message: 'nor me' }, { message: 'not now' }],
    });
    expect(log).toEqual(['IUsers']);
  });

  it('cannot be added by a disposer: the scope is being disposed already', async () => {
    const late = vi.fn<() => void>();
    const request = new Container().createScope();
    request.defer(() => request.defer(late));
    await expect(request.dispose()).rejects.toMatchObject({ errors: [{ code: 'AMBIT_DISPOSED' }] });
    expect(late).not.toHaveBeenCalled();
  });
});

const twoScopes = () => {
  const app = new Container({ tags: ['application'] });
  return { app, request: app.createScope({ tags: ['request', 'api'] }) };
};

const uses: [string, (scope: Container) => unknown, string | undefined][] = [
  ['resolve', (scope) => scope.resolve('IUsers'), 'IUsers'],
  ['resolveAll', (scope) => scope.resolveAll('IUsers'), 'IUsers'],
  ['register', (scope) => scope.register('IUsers', () => 1), 'IUsers'],
  ['addRegistration', (scope) => scope.addRegistration(Registration.fromValue(1).to('IUsers')), undefined],
  ['createScope', (scope) => scope.createScope({ tags: ['transaction'] }), undefined],
  ['defer', (scope) => scope.defer(() => {}), undefined],
  ['start', (scope) => scope.start(), undefined],
];

/** The error, thrown or rejected with. */
async function errorOf(use: () => unknown): Promise<ContainerError> {
  try {
    await use();
  } catch (error) {
    expect(error).toBeInstanceOf(ContainerError);
    return error as ContainerError;
  }
  return expect.fail('it was served');
}

afterEach(() => void vi.restoreAllMocks());

describe('a scope that was disposed', () => {
  it.each(uses)('refuses %s, and says what was asked of which scope, with its tags', async (name, use, key) => {
    const { app, request } = twoScopes();
    app.register('IUsers', () => 1);
    await request.dispose();
    const error = await errorOf(() => use(request));
    expect(error).toMatchObject({ code: 'AMBIT_DISPOSED', key, tags: [['application'], ['request', 'api']] });
    expect(error.message).toContain(name);
    expect(error.message).toContain('[application] > [request, api]');
    expect(error.hint).not.toBe('');
    if (key) expect(error.message).toContain(`'${key}'`);
  });

  it.each(uses)('refuses %s from the call on, while it waits for a disposer', async (_, use) => {
    const { app, request } = twoScopes();
    app.register('IUsers', () => 1);
    const { opened, open } = gate();
    request.defer(() => opened);
    const disposal = request.dispose();
    const refusal = errorOf(() => use(request));
    open();
    await disposal;
    expect((await refusal).code).toBe('AMBIT_DISPOSED');
  });

  it.each(uses)('refuses %s in all scopes below, at once', async (_, use) => {
    const { app, request } = twoScopes();
    const transaction = request.createScope({ tags: ['transaction'] });
    app.register('IUsers', () => 1);
    const disposal = app.dispose();
    const refusals = [request, transaction].map((scope) => errorOf(() => use(scope)));
    await disposal;
    for (const refusal of refusals) expect((await refusal).code).toBe('AMBIT_DISPOSED');
  });
});
