import { describe, expect, it, vi } from 'vitest';
import { Registration, singleton, type Container } from '../src/index.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const disposable = () => ({ dispose: vi.fn<() => void>() });

const HANDING: [string, () => Registration<unknown>][] = [
  ['resolves it', () => Registration.fromFactory((scope) => scope.resolve('IPool'))],
  ['lists it', () => Registration.fromFactory((pool) => pool, ['IPool'])],
];

describe.each(HANDING)('a factory that %s and hands it on', (_, handing) => {
  const openWith = (pool: Registration<unknown>): [Container, Container] => {
    const app = openApplication(pool.to('IPool'), handing().pipe(singleton(), perRequest).to('ISame'));
    return [app, openRequest(app)];
  };

  it.each([
    ['the pool was asked for before', true],
    ['it was not', false],
  ])('does not dispose a value, whether %s', async (_when, asked) => {
    const pool = disposable();
    const [app, request] = openWith(Registration.fromValue(pool));
    if (asked) app.resolve('IPool');
    expect(request.resolve('ISame')).toBe(pool);
    await request.dispose();
    await app.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
  });

  it('leaves the disposal of a singleton to its owner', async () => {
    const pool = disposable();
    const [app, request] = openWith(Registration.fromFactory(() => pool).pipe(singleton()));
    request.resolve('ISame');
    await request.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('leaves the disposal to its owner after any number of factories', async () => {
    const pool = disposable();
    const app = openApplication(
      Registration.fromFactory(() => pool)
        .pipe(singleton())
        .to('IFirst'),
      Registration.fromFactory((scope) => scope.resolve('IFirst')).to('ISecond'),
      Registration.fromFactory((second) => second, ['ISecond']).to('IPool'),
      handing().pipe(singleton(), perRequest).to('ISame'),
    );
    const request = openRequest(app);
    expect(request.resolve('ISame')).toBe(pool);
    await request.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('disposes what it makes of that itself', async () => {
    const made = disposable();
    const app = openApplication(
      Registration.fromValue(disposable()).to('IFirst'),
      Registration.fromFactory((first) => first, ['IFirst']).to('IPool'),
      handing().pipe(singleton()).to('ISame'),
      Registration.fromFactory((scope) => {
        scope.resolve('ISame');
        return made;
      })
        .pipe(singleton())
        .to('IMade'),
    );
    expect(app.resolve('IMade')).toBe(made);
    await app.dispose();
    expect(made.dispose).toHaveBeenCalledOnce();
  });

  it('does not dispose what an alias with a longer lifetime keeps', async () => {
    const pool = disposable();
    const [app, request] = openWith(Registration.alias('IAny').pipe(singleton()));
    app.addRegistration(Registration.fromFactory(() => pool).to('IAny'));
    request.resolve('ISame');
    await request.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
  });

  it('disposes with its owner what nobody else keeps', async () => {
    const pool = disposable();
    const [app, request] = openWith(Registration.fromFactory(() => pool));
    request.resolve('ISame');
    await request.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('does not dispose what was registered directly', async () => {
    const pool = disposable();
    const [, request] = openWith(Registration.fromValue(undefined));
    request.register('IPool', () => pool);
    expect(request.resolve('ISame')).toBe(pool);
    await request.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
  });
});
