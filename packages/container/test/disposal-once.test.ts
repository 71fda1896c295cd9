import { describe, expect, it, vi } from 'vitest';
import { Container, hasTag, onStart, Registration, scope, singleton } from '../src/index.js';
import { holding, logged, slow } from './support/disposers.js';

const service = () => ({ dispose: vi.fn<() => void>() });

describe('what has an owner already', () => {
  it.each([
    ['a factory of the request', Registration.fromFactory((from) => from.resolve('IPool'))],
    ['a factory that takes it as a dependency', Registration.fromFactory((pool: unknown) => pool, ['IPool'])],
    ['a factory that starts it', Registration.fromFactory((from) => from.resolve('IPool')).pipe(onStart(() => {}))],
    ['an alias that is a singleton itself', Registration.alias('IPool')],
  ])('%s hands out the pool of the application, and the application disposes it, once', async (_, handsOut) => {
    const pool = service();
    const app = new Container().addRegistration(
      Registration.fromFactory(() => pool)
        .pipe(singleton())
        .to('IPool'),
      handsOut.pipe(singleton(), scope(hasTag('request'))).to('ISamePool'),
    );
    const first = app.createScope({ tags: ['request'] });
    expect(first.resolve('ISamePool')).toBe(pool);
    await first.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it.each([
    ['a factory', Registration.fromFactory((from) => from.resolve('IPool'))],
    ['an alias', Registration.alias('IPool')],
  ])('%s that gives one object a second key in its scope does not dispose it twice', async (_, second) => {
    const pool = service();
    const app = new Container().addRegistration(
      Registration.fromFactory(() => pool)
        .pipe(singleton())
        .to('IPool'),
      second.pipe(singleton()).to('ISamePool'),
    );
    app.resolve('ISamePool');
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('a factory that returns its own scope does not make the scope wait for itself', async () => {
    const owner = new Container().createScope().addRegistration(
      Registration.fromFactory((self) => self)
        .pipe(singleton())
        .to('IScope'),
    );
    expect(owner.resolve('IScope')).toBe(owner);
    await expect(owner.dispose()).resolves.toBeUndefined();
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

  it('of a scope that had nothing to dispose gets the same promise, too', async () => {
    const app = new Container();
    const first = app.dispose();
    await first;
    expect(app.dispose()).toBe(first);
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
