import { describe, expect, it, vi } from 'vitest';
import { Container, hasTag, onDispose, Registration, scope, singleton } from '../src/index.js';
import { logged } from './support/disposers.js';

const service = () => ({ dispose: vi.fn<() => void>() });
const request = () => new Container({ tags: ['application'] }).createScope({ tags: ['request'] });

class Connection {
  static disposed = 0;
  dispose(): void {
    Connection.disposed++;
  }
}

describe('what a scope disposes', () => {
  it('a request disposes its own instances and none of the application', async () => {
    const log: string[] = [];
    const app = new Container();
    app.addRegistration(
      logged(log, 'IPool').to('IPool'),
      logged(log, 'IUsers', 'IPool')
        .pipe(scope(hasTag('request')))
        .to('IUsers'),
    );
    const first = app.createScope({ tags: ['request'] });
    first.resolve('IUsers');
    await first.dispose();
    expect(log).toEqual(['IUsers']);
    await app.dispose();
    expect(log).toEqual(['IUsers', 'IPool']);
  });

  it('a singleton of a class is disposed once, whichever of its scopes asked and however often', async () => {
    const app = new Container().addRegistration(Registration.fromClass(Connection).pipe(singleton()).to('ISession'));
    app.createScope().resolve('ISession');
    app.resolve('ISession');
    const before = Connection.disposed;
    await app.dispose();
    expect(Connection.disposed).toBe(before + 1);
  });

  it('an instance nobody asked for is not made in order to be disposed', async () => {
    const make = vi.fn<typeof service>(service);
    const app = new Container().addRegistration(Registration.fromFactory(make).pipe(singleton()).to('IPool'));
    app.createScope();
    await app.dispose();
    expect(make).not.toHaveBeenCalled();
  });

  it('the singletons made for a constructor that then threw are disposed with their owner', async () => {
    const log: string[] = [];
    const app = new Container();
    const broken = Registration.fromFactory(() => expect.fail('no users today'), ['IPool']);
    app.addRegistration(logged(log, 'IPool').to('IPool'), broken.pipe(singleton()).to('IUsers'));
    expect(() => app.resolve('IUsers')).toThrow('no users today');
    await app.dispose();
    expect(log).toEqual(['IPool']);
  });

  it.each<[string, (owner: Container, value: object) => unknown]>([
    ['a transient', (owner, value) => owner.addRegistration(Registration.fromFactory(() => value).to('it'))],
    ['a value', (owner, value) => owner.addRegistration(Registration.fromValue(value).to('it'))],
    [
      'a singleton value',
      (owner, value) => owner.addRegistration(Registration.fromValue(value).pipe(singleton()).to('it')),
    ],
    ['what a directly registered factory returns', (owner, value) => owner.register('it', () => value)],
  ])('%s is never disposed', async (_, add) => {
    const [owner, value] = [request(), service()];
    add(owner, value);
    expect(owner.resolve('it')).toBe(value);
    await owner.parent?.dispose();
    expect(value.dispose).not.toHaveBeenCalled();
  });

  it('an instance of a class that was never registered is never disposed', async () => {
    const owner = request();
    const before = Connection.disposed;
    expect(owner.resolve(Connection)).toBeInstanceOf(Connection);
    await owner.dispose();
    expect(Connection.disposed).toBe(before);
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
    const owner = request().addRegistration(
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
    const owner = request().addRegistration(Registration.fromClass(Derived).pipe(singleton()).to('it'));
    const instance = owner.resolve('it');
    await owner.dispose();
    expect(disposed).toEqual([instance]);
  });

  it.each(['dispose', Symbol.dispose, Symbol.asyncDispose])('%s that is no function is no disposer', async (name) => {
    const owner = request().addRegistration(
      Registration.fromFactory(() => ({ [name]: 'tomorrow' }))
        .pipe(singleton())
        .to('it'),
    );
    owner.resolve('it');
    await expect(owner.dispose()).resolves.toBeUndefined();
  });

  it('what is no function does not hide the next disposer', async () => {
    const instance = { ...service(), [Symbol.asyncDispose]: true };
    const owner = request().addRegistration(
      Registration.fromFactory(() => instance)
        .pipe(singleton())
        .to('it'),
    );
    owner.resolve('it');
    await owner.dispose();
    expect(instance.dispose).toHaveBeenCalledOnce();
  });

  it('onDispose gets the instance once and replaces its own disposer', async () => {
    const [instance, end] = [service(), vi.fn<(instance: object) => void>()];
    const owner = request().addRegistration(
      Registration.fromFactory(() => instance)
        .pipe(singleton(), onDispose(end))
        .to('it'),
    );
    owner.resolve('it');
    await owner.dispose();
    expect(end).toHaveBeenCalledExactlyOnceWith(instance);
    expect(instance.dispose).not.toHaveBeenCalled();
  });

  it('several onDispose run in the order of their piping, the next when the one before is done', async () => {
    const log: string[] = [];
    const slowly = onDispose(async () => {
      log.push('flush');
      await Promise.resolve();
      log.push('flushed');
    });
    const owner = request().addRegistration(
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
    const owner = request().addRegistration(
      Registration.fromFactory<unknown>(() => value)
        .pipe(singleton(), onDispose(end))
        .to('it'),
    );
    owner.resolve('it');
    await owner.dispose();
    expect(end).toHaveBeenCalledExactlyOnceWith(value);
  });
});
