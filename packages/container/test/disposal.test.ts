import { describe, expect, it, vi } from 'vitest';
import { Container, onDispose, Registration, singleton, decorate } from '../src/index.js';
import { failing, logged } from './support/disposers.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const service = () => ({ dispose: vi.fn<() => void>() });
const aRequest = () => new Container({ tags: ['application'] }).createScope({ tags: ['request'] });

describe('what a scope disposes', () => {
  it.each<[string, (owner: Container, value: object) => unknown]>([
    ['a transient', (owner, value) => owner.addRegistration(Registration.fromFactory(() => value).to('it'))],
    ['a value', (owner, value) => owner.addRegistration(Registration.fromValue(value).to('it'))],
    [
      'a singleton value',
      (owner, value) => owner.addRegistration(Registration.fromValue(value).pipe(singleton()).to('it')),
    ],
    ['what a directly registered factory returns', (owner, value) => owner.register('it', () => value)],
  ])('%s is never disposed', async (_, add) => {
    const [owner, value] = [aRequest(), service()];
    add(owner, value);
    expect(owner.resolve('it')).toBe(value);
    await owner.parent?.dispose();
    expect(value.dispose).not.toHaveBeenCalled();
  });
});

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

  it('an inherited disposer counts, and runs on the instance', async () => {
    const disposed: unknown[] = [];
    class Base {
      dispose(): void {
        disposed.push(this);
      }
    }
    class Derived extends Base {}
    const owner = aRequest().addRegistration(Registration.fromClass(Derived).pipe(singleton()).to('it'));
    const instance = owner.resolve('it');
    await owner.dispose();
    expect(disposed).toEqual([instance]);
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
