import { describe, expect, it, vi } from 'vitest';
import {
  type Container,
  decorate,
  externallyOwned,
  Registration,
  scope as onlyWhere,
  hasTag,
  singleton,
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

it('what was registered directly is not held by the scope once something else is registered', async () => {
  const app = openApplication();
  app.register('IJob', (from) => from.createScope({ tags: ['job'] }));
  const job = new WeakRef(app.resolve<Container>('IJob'));
  await job.deref()?.dispose();
  app.register('IJob', () => 'another');
  await heapAfterCollection();
  expect(job.deref()).toBeUndefined();
});
