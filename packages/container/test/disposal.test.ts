import { describe, expect, it, vi } from 'vitest';
import { Container, hasTag, onDispose, Registration, scope, singleton } from '../src/index.js';
import { logged } from './support/ending.js';

const service = () => ({ dispose: vi.fn<() => void>() });
const request = () => new Container({ tags: ['application'] }).createScope({ tags: ['request'] });

class Connection {
  static ended = 0;
  dispose(): void {
    Connection.ended++;
  }
}

describe('what a scope ends', () => {
  it('a request ends its own instances and none of the application', async () => {
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

  it('a singleton of a class is ended once, whichever of its scopes asked and however often', async () => {
    const app = new Container().addRegistration(Registration.fromClass(Connection).pipe(singleton()).to('IConnection'));
    app.createScope().resolve('IConnection');
    app.resolve('IConnection');
    const before = Connection.ended;
    await app.dispose();
    expect(Connection.ended).toBe(before + 1);
  });

  it('an instance nobody asked for is not made in order to be ended', async () => {
    const make = vi.fn<typeof service>(service);
    const app = new Container().addRegistration(Registration.fromFactory(make).pipe(singleton()).to('IPool'));
    app.createScope();
    await app.dispose();
    expect(make).not.toHaveBeenCalled();
  });

  it('the singletons made for a constructor that then threw are ended with their owner', async () => {
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
    ['what a hand-registered factory returns', (owner, value) => owner.register('it', () => value)],
  ])('%s is never ended', async (_, add) => {
    const [owner, value] = [request(), service()];
    add(owner, value);
    expect(owner.resolve('it')).toBe(value);
    await owner.parent?.dispose();
    expect(value.dispose).not.toHaveBeenCalled();
  });

  it('an instance of a class that was never registered is never ended', async () => {
    const owner = request();
    const before = Connection.ended;
    expect(owner.resolve(Connection)).toBeInstanceOf(Connection);
    await owner.dispose();
    expect(Connection.ended).toBe(before);
  });
});

describe('how an instance is ended', () => {
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

  it('an inherited way of ending counts, and runs on the instance', async () => {
    const ended: unknown[] = [];
    class Base {
      dispose(): void {
        ended.push(this);
      }
    }
    class Derived extends Base {}
    const owner = request().addRegistration(Registration.fromClass(Derived).pipe(singleton()).to('it'));
    const instance = owner.resolve('it');
    await owner.dispose();
    expect(ended).toEqual([instance]);
  });

  it.each(['dispose', Symbol.dispose, Symbol.asyncDispose])(
    '%s that is no function is no way of ending',
    async (name) => {
      const owner = request().addRegistration(
        Registration.fromFactory(() => ({ [name]: 'tomorrow' }))
          .pipe(singleton())
          .to('it'),
      );
      owner.resolve('it');
      await expect(owner.dispose()).resolves.toBeUndefined();
    },
  );

  it('what is no function does not hide the way of ending behind it', async () => {
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

  it('onDispose gets the instance once and replaces its own way of ending', async () => {
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

  it.each([undefined, null, 0, '', false])('onDispose ends a singleton that is %j, too', async (value) => {
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
