import { describe, expect, it, vi } from 'vitest';
import {
  decorate,
  externallyOwned,
  Registration,
  singleton,
  Container,
  onDispose,
  type Binding,
} from '../src/index.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const disposable = () => ({ dispose: vi.fn<() => void>() });
const factory = <T>(make: () => T) => Registration.fromFactory(make).pipe(singleton());

describe('a scope disposes what it keeps, once', () => {
  it.each([1, 100])('an object that two factories return, with %i others in between', async (others) => {
    const pool = disposable();
    const app = openApplication(factory(() => pool).to('IFirst'), factory(() => pool).to('ISecond'));
    app.resolve('IFirst');
    for (let i = 0; i < others; i++) app.addRegistration(factory(disposable).to(`other ${i}`)).resolve(`other ${i}`);
    app.resolve('ISecond');
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
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
});

const disposals: string[] = [];

describe('a scope that a factory gives', () => {
  it('disposes with its owner where the factory made it', async () => {
    const pool = disposable();
    const tenant = new Container({ tags: ['tenant'] }).addRegistration(
      Registration.fromFactory(() => pool)
        .pipe(singleton())
        .to('IPool'),
    );
    const app = openApplication(
      Registration.fromFactory(() => tenant)
        .pipe(singleton())
        .to('ITenant'),
    );
    app.resolve<Container>('ITenant').resolve('IPool');
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('is disposed with its owner where it is of another library', async () => {
    const foreign = { createScope: () => foreign, parent: {}, ...disposable() };
    const app = openApplication(
      Registration.fromFactory(() => foreign)
        .pipe(singleton())
        .to('IForeign'),
    );
    app.resolve('IForeign');
    await app.dispose();
    expect(foreign.dispose).toHaveBeenCalledOnce();
  });

  it('is left alone where it is one that the factory was made in', async () => {
    const app = openApplication();
    app.addRegistration(
      Registration.fromFactory((scope) => scope)
        .pipe(singleton())
        .to('IApplication'),
      Registration.fromFactory(() => app)
        .pipe(singleton(), perRequest)
        .to('IOutermost'),
    );
    const request = openRequest(app);
    expect(request.resolve('IOutermost')).toBe(request.resolve('IApplication'));
    await request.dispose();
    expect(app.disposed).toBe(false);
    await app.dispose();
  });
});

it.each([
  ['in its list', () => Registration.fromFactory((rows: unknown) => ({ rows }), ['IRows'])],
  ['from resolve', () => Registration.fromFactory((from) => ({ rows: from.resolve('IRows') }))],
])('an array that a factory receives %s is neither copied nor read', (_, holding) => {
  const get = vi.fn<typeof Reflect.get>(Reflect.get);
  const rows = new Proxy([1, 2, 3], { get });
  const app = openApplication(
    Registration.fromValue(rows).to('IRows'),
    holding().pipe(singleton(), perRequest).to('IHolding'),
  );
  for (let i = 0; i < 10; i++) expect(openRequest(app).resolve<{ rows: unknown }>('IHolding').rows === rows).toBe(true);

  const read = get.mock.calls.map(([, name]) => name);
  expect(read.filter((name) => name === 'length' || name === '0')).toEqual([]);
});
