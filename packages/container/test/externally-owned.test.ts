import { describe, expect, it, vi } from 'vitest';
import { decorate, externallyOwned, onDispose, Registration, singleton, type Binding } from '../src/index.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const disposable = () => ({ dispose: vi.fn<() => void>() });
const factory = <T>(make: () => T) => Registration.fromFactory(make).pipe(singleton());

describe('externallyOwned()', () => {
  it.each([
    [
      'a class',
      () =>
        Registration.fromClass(
          class {
            dispose = (): void => void disposals.push('class');
          },
        ),
    ],
    ['a factory', () => Registration.fromFactory(() => ({ dispose: () => void disposals.push('factory') }))],
    [
      'an async factory',
      () => Registration.fromFactory(() => Promise.resolve({ dispose: () => void disposals.push('async factory') })),
    ],
    [
      'a wrapper',
      () => Registration.fromValue({}).pipe(decorate(() => ({ dispose: () => void disposals.push('wrapper') }))),
    ],
  ] as [string, () => Registration<unknown>][])(
    'keeps the container from disposing the instance of %s',
    async (_, registration) => {
      disposals.length = 0;
      const app = openApplication(registration().pipe(singleton(), externallyOwned()).to('IShared'));
      expect(await app.resolve('IShared')).toHaveProperty('dispose');
      await app.dispose();
      expect(disposals).toEqual([]);
    },
  );

  it('leaves onDispose of the registration in force', async () => {
    const shared = disposable();
    const release = vi.fn<(one: unknown) => void>();
    const app = openApplication(
      factory(() => shared)
        .pipe(externallyOwned(), onDispose(release))
        .to('IShared'),
    );
    app.resolve('IShared');
    await app.dispose();
    expect(release.mock.calls).toEqual([[shared]]);
    expect(shared.dispose).not.toHaveBeenCalled();
  });
});

describe('a name of the request for what is externally owned', () => {
  class Reader {
    disposed = 0;
    dispose() {
      this.disposed++;
    }
  }
  const name = (make: (reader: unknown) => unknown) =>
    Registration.fromFactory(make, ['IReader']).pipe(singleton(), perRequest).to('IDb');
  const outside = new Reader();

  it.each<[string, Registration<unknown>, Binding]>([
    ['a factory', factory(() => outside), name((reader) => reader)],
    ['a class', Registration.fromClass(Reader).pipe(singleton()), name((reader) => reader)],
    ['an async factory', factory(() => Promise.resolve(outside)), name((reader) => reader)],
    ['what an async factory gives', factory(() => Promise.resolve(outside)), name(async (reader) => await reader)],
    ['a transient factory', Registration.fromFactory(() => outside), name((reader) => reader)],
    ['an alias', factory(() => outside), Registration.alias('IReader').pipe(singleton(), perRequest).to('IDb')],
  ])('leaves it to its owner, request after request: %s', async (_, reader, db) => {
    const app = openApplication(reader.pipe(externallyOwned()).to('IReader'), db);
    for (let i = 0; i < 2; i++) {
      const request = openRequest(app);
      expect(await request.resolve<Promise<Reader>>('IDb')).toHaveProperty('disposed', 0);
      await request.dispose();
    }
    await app.dispose();

    expect(outside.disposed).toBe(0);
  });

  it('is made again where it was rejected, as any other', async () => {
    let attempts = 0;
    const app = openApplication(
      factory(() => (++attempts < 2 ? Promise.reject(new Error('no database')) : Promise.resolve(outside)))
        .pipe(externallyOwned())
        .to('IReader'),
    );
    await expect(app.resolve('IReader')).rejects.toThrow('no database');
    expect(await app.resolve('IReader')).toBe(outside);
  });
});

const disposals: string[] = [];

it.each([
  ['in its list', () => Registration.fromFactory((rows: unknown) => ({ rows }), ['IRows'])],
  ['from resolve', () => Registration.fromFactory((from) => ({ rows: from.resolve('IRows') }))],
])('an array that a factory receives %s is neither copied nor looked through', (_, holding) => {
  const read: unknown[] = [];
  const rows = new Proxy(
    Array.from({ length: 1000 }, (__, i) => i),
    {
      get(target, name, receiver): unknown {
        read.push(name);
        return Reflect.get(target, name, receiver);
      },
    },
  );
  const app = openApplication(
    Registration.fromValue(rows).to('IRows'),
    holding().pipe(singleton(), perRequest).to('IHolding'),
  );
  for (let i = 0; i < 10; i++) openRequest(app).resolve('IHolding');

  expect(read).not.toContain('0');
  expect(read).not.toContain('length');
});
