import { describe, expect, it, vi } from 'vitest';
import {
  all,
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
