import { describe, expect, it, vi } from 'vitest';
import { decorate, externallyOwned, onDispose, Registration, singleton } from '../src/index.js';
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
