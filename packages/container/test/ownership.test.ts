import { describe, expect, it, vi } from 'vitest';
import { all, decorate, externallyOwned, Registration, singleton } from '../src/index.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const disposable = () => ({ dispose: vi.fn<() => void>() });
const factory = <T>(make: () => T) => Registration.fromFactory(make).pipe(singleton());

describe('a scope disposes what it keeps, once', () => {
  it('an array with a disposer, which a factory receives and returns', async () => {
    const disposed = vi.fn<() => void>();
    class Pools extends Array<string> {
      dispose() {
        disposed();
      }
    }
    const app = openApplication(
      factory(() => new Pools()).to('IPools'),
      Registration.fromFactory((pools) => pools, ['IPools'])
        .pipe(singleton())
        .to('ISame'),
    );
    expect(app.resolve('ISame')).toBe(app.resolve('IPools'));
    await app.dispose();
    expect(disposed).toHaveBeenCalledOnce();
  });

  it.each([1, 100])('an object that two factories return, with %i others in between', async (others) => {
    const pool = disposable();
    const app = openApplication(factory(() => pool).to('IFirst'), factory(() => pool).to('ISecond'));
    app.resolve('IFirst');
    for (let i = 0; i < others; i++) app.addRegistration(factory(disposable).to(`other ${i}`)).resolve(`other ${i}`);
    app.resolve('ISecond');
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it.each(['ISame', 'IUsers'])('a transient that an alias or a factory keeps, asked for first: %s', async (first) => {
    const made: ReturnType<typeof disposable>[] = [];
    const app = openApplication(
      Registration.fromFactory(() => {
        const pool = disposable();
        made.push(pool);
        return pool;
      }).to('IPool'),
      Registration.alias('IPool').pipe(singleton()).to('ISame'),
      Registration.fromFactory((pool) => pool, ['ISame'])
        .pipe(singleton())
        .to('IUsers'),
    );
    app.resolve(first);
    expect(app.resolve('ISame')).toBe(app.resolve('IUsers'));
    await app.dispose();
    expect(made).toHaveLength(1);
    expect(made[0]?.dispose).toHaveBeenCalledOnce();
  });

  it('a transient member of a collection that a factory keeps', async () => {
    const member = disposable();
    const app = openApplication(
      Registration.fromFactory(() => member).to('IHook'),
      Registration.fromFactory((hooks: unknown[]) => hooks[0], [all('IHook')])
        .pipe(singleton())
        .to('IFirst'),
    );
    app.resolve('IFirst');
    await app.dispose();
    expect(member.dispose).toHaveBeenCalledOnce();
  });

  it('a member of a collection that is a singleton has its owner', async () => {
    const member = disposable();
    const app = openApplication(
      factory(() => member).to('IHook'),
      Registration.fromFactory((hooks: unknown[]) => hooks[0], [all('IHook')])
        .pipe(singleton(), perRequest)
        .to('IFirst'),
    );
    const request = openRequest(app);
    request.resolve('IFirst');
    await request.dispose();
    expect(member.dispose).not.toHaveBeenCalled();
    await app.dispose();
    expect(member.dispose).toHaveBeenCalledOnce();
  });
});

describe('a part of what another service holds', () => {
  const application = (marked: boolean) => {
    const pool = disposable();
    const db = { pool, dispose: vi.fn<() => void>(() => pool.dispose()) };
    const part = Registration.fromFactory((from) => (from as typeof db).pool, ['IDatabase']).pipe(
      singleton(),
      perRequest,
    );
    const found = Registration.fromFactory((from) => from.resolve<typeof db>('IDatabase').pool).pipe(
      singleton(),
      perRequest,
    );
    const app = openApplication(
      factory(() => db).to('IDatabase'),
      (marked ? part.pipe(externallyOwned()) : part).to('IPool'),
      (marked ? found.pipe(externallyOwned()) : found).to('IFound'),
    );
    return { app, pool };
  };

  it.each(['IPool', 'IFound'])('is left to that with externallyOwned(): %s', async (key) => {
    const { app, pool } = application(true);
    const request = openRequest(app);
    expect(request.resolve(key)).toBe(pool);
    await request.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it.each(['IPool', 'IFound'])('is disposed by the scope that keeps it without: %s', async (key) => {
    const { app, pool } = application(false);
    const request = openRequest(app);
    request.resolve(key);
    await request.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });
});

describe('a wrapper that a decorator makes is disposed by the scope that made it', () => {
  const inner = disposable();
  const wrapped = (log: unknown[]) =>
    decorate((wraps: unknown) => ({ wraps, dispose: () => void log.push('wrapper') }));

  it.each<[string, (log: unknown[]) => Parameters<typeof openApplication>]>([
    ['a value', (log) => [Registration.fromValue(inner).pipe(singleton(), wrapped(log), perRequest).to('IWrapped')]],
    [
      'an alias',
      (log) => [
        Registration.fromValue(inner).to('IPool'),
        Registration.alias('IPool').pipe(singleton(), wrapped(log), perRequest).to('IWrapped'),
      ],
    ],
    [
      'what a factory was handed',
      (log) => [
        Registration.fromValue(inner).to('IPool'),
        Registration.fromFactory((pool) => pool, ['IPool'])
          .pipe(singleton(), wrapped(log), perRequest)
          .to('IWrapped'),
      ],
    ],
  ])('around %s', async (_, registrations) => {
    const log: unknown[] = [];
    const app = openApplication(...registrations(log));
    const request = openRequest(app);
    expect(request.resolve('IWrapped')).toMatchObject({ wraps: inner });
    await request.dispose();
    await app.dispose();

    expect(log).toEqual(['wrapper']);
    expect(inner.dispose).not.toHaveBeenCalled();
  });
});
