import { describe, expect, it, vi } from 'vitest';
import {
  type Container,
  decorate,
  externallyOwned,
  onDispose,
  Registration,
  scope as onlyWhere,
  hasTag,
  singleton,
  type IContainer,
} from '../src/index.js';
import { heapAfterCollection } from './support/memory.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const disposable = () => ({ dispose: vi.fn<() => void>() });

describe('what a factory hands on is disposed by its owner alone', () => {
  const end = async (...scopes: Container[]) => {
    for (const one of scopes) await one.dispose();
  };

  const OWNERS: [string, (registration: Registration<unknown>) => Registration<unknown>, number][] = [
    ['once, by its owner, with externallyOwned()', (registration) => registration.pipe(externallyOwned()), 1],
    ['by both without it', (registration) => registration, 2],
  ];

  it.each(OWNERS)('where it comes from a scope that the factory opened: %s', async (_, marked, times) => {
    const worker = disposable();
    const app = openApplication(
      Registration.fromFactory(() => worker)
        .pipe(singleton(), onlyWhere(hasTag('worker')))
        .to('IWorker'),
      marked(
        Registration.fromFactory((from) => from.createScope({ tags: ['worker'] }).resolve('IWorker')).pipe(singleton()),
      ).to('ISame'),
    );
    app.resolve('ISame');
    await end(app);
    expect(worker.dispose).toHaveBeenCalledTimes(times);
  });

  it.each(OWNERS)('where it comes from another container: %s', async (_, marked, times) => {
    const pool = disposable();
    const made = Registration.fromFactory(() => pool).pipe(singleton());
    const platform = openApplication(made.to('IPool'));
    const tenant = openApplication(
      marked(Registration.fromFactory(() => platform.resolve('IPool')).pipe(singleton())).to('IPool'),
    );
    tenant.resolve('IPool');
    await end(tenant);
    expect(pool.dispose).toHaveBeenCalledTimes(times - 1);
    await end(platform);
    expect(pool.dispose).toHaveBeenCalledTimes(times);
  });

  it('where a decorator fails before the layer that was to be disposed', async () => {
    const pool = disposable();
    const failing = decorate((): { release(): void } => {
      throw new Error('cannot wrap');
    });
    const app = openApplication(
      Registration.fromFactory(() => pool)
        .pipe(singleton())
        .to('IPool'),
      Registration.fromFactory((same) => same, ['IPool'])
        .pipe(
          singleton(),
          perRequest,
          failing,
          onDispose((session) => session.release()),
        )
        .to('ISession'),
    );
    const request = openRequest(app);
    expect(() => request.resolve('ISession')).toThrow('cannot wrap');
    await end(request);
    expect(pool.dispose).not.toHaveBeenCalled();
    await end(app);
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('where what is registered directly gives another one each time', async () => {
    const connections = [disposable(), disposable()];
    const left = [...connections];
    const app = openApplication(
      Registration.fromFactory((connection) => ({ connection }), ['ISession']).to('IRepository'),
      Registration.fromFactory((connection) => connection, ['ISession', 'IRepository'])
        .pipe(singleton())
        .to('ISame'),
    );
    app.register('ISession', () => left.shift());
    expect(app.resolve('ISame')).toBe(connections[0]);
    await end(app);
    for (const { dispose } of connections) expect(dispose).not.toHaveBeenCalled();
  });

  const wrapped = (pool: ReturnType<typeof disposable>, marked: (typeof OWNERS)[number][1], key: string) => {
    const proxied = decorate((inner: typeof pool) => new Proxy(inner, {}));
    return openApplication(
      Registration.fromValue(pool).pipe(proxied).to('IPool'),
      Registration.alias<typeof pool>('IPool').pipe(proxied).to('IReader'),
      marked(Registration.fromFactory((same) => same, [key]).pipe(singleton(), perRequest)).to('ISame'),
    );
  };

  it.each(['IPool', 'IReader'])(
    'where a decorator makes a new wrapper for each resolve, with externallyOwned(): %s',
    async (key) => {
      const pool = disposable();
      const app = wrapped(pool, OWNERS[0]![1], key);
      const request = openRequest(app);
      request.resolve('ISame');
      await end(request, app);
      expect(pool.dispose).not.toHaveBeenCalled();
    },
  );

  it.each(['IPool', 'IReader'])('but a new wrapper is disposed without externallyOwned(): %s', async (key) => {
    const pool = disposable();
    const app = wrapped(pool, OWNERS[1]![1], key);
    const request = openRequest(app);
    request.resolve('ISame');
    await end(request, app);
    expect(pool.dispose).toHaveBeenCalledOnce();
  });
});

it('what a factory makes is disposed though its parent is a scope', async () => {
  const disposed = vi.fn<() => void>();
  class Jobs {
    constructor(readonly parent: IContainer) {}
    dispose() {
      disposed();
    }
  }
  const app = openApplication(
    Registration.fromFactory((from) => new Jobs(from))
      .pipe(singleton())
      .to('IJobs'),
  );
  app.resolve('IJobs');
  await app.dispose();
  expect(disposed).toHaveBeenCalledOnce();
});

it('what was registered directly is not held by the scope once something else is registered', async () => {
  const app = openApplication();
  app.register('IJob', (from) => from.createScope({ tags: ['job'] }));
  const job = new WeakRef(app.resolve<Container>('IJob'));
  await job.deref()?.dispose();
  app.register('IJob', () => 'another');
  await heapAfterCollection();
  expect(job.deref()).toBeUndefined();
});

it('what was registered directly on one scope is disposed where another scope makes it by a factory', async () => {
  const pool = disposable();
  const app = openApplication(
    Registration.fromFactory(() => pool)
      .pipe(singleton(), perRequest)
      .to('IPool'),
  );
  const [directly, made] = [openRequest(app).register('IOther', () => pool), openRequest(app)];
  directly.resolve('IOther');
  made.resolve('IPool');
  await directly.dispose();
  expect(pool.dispose).not.toHaveBeenCalled();
  await made.dispose();
  expect(pool.dispose).toHaveBeenCalledOnce();
});
