import { describe, expect, it, vi } from 'vitest';
import { onDispose, Registration, singleton } from '../src/index.js';
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

  it('does not dispose what it resolves to, where that is a value', async () => {
    const pool = disposable();
    const app = openApplication(
      Registration.fromValue(pool).to('IPool'),
      Registration.fromFactory((same) => Promise.resolve(same), ['IPool'])
        .pipe(singleton())
        .to('ISame'),
    );
    expect(await app.resolve('ISame')).toBe(pool);
    await app.dispose();
    expect(pool.dispose).not.toHaveBeenCalled();
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
});
