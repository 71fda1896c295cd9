import type express from 'express';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';
import { versions } from './support/versions.js';

const fails: RequestHandler = async (req, _res, next) => {
  await store(req, 'order');
  next(new Error('boom'));
};
const succeeds: RequestHandler = async (req, res) => {
  await store(req, 'order');
  res.status(201).json('done');
};
const passesOn: ErrorRequestHandler = (error, _req, _res, next) => next(error);
const hidesFailure: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(200).json('all is well');

/** Express's own last word is not printed. */
function fresh(create: typeof express) {
  const { container, pool } = application();
  const app = create().set('env', 'test').use(containerMiddleware(container));
  return { app, container, pool };
}

const copies = versions.flatMap(([app, create]) =>
  versions.map(([router, { Router }]) => ({ app, create, router, Router })),
);

describe.each(copies)('in an application of $app, in a router of $router', ({ create, Router }) => {
  it.each<[where: string, mount: (app: Express) => unknown]>([
    ['opens it', (app) => app.use(Router().post('/', withTransaction(), fails).use(hidesFailure))],
    ['stands behind it', (app) => app.use(withTransaction(), Router().post('/', fails).use(hidesFailure))],
    [
      'has the error handler on its route',
      (app) => app.use(Router().post('/', withTransaction(), fails, hidesFailure)),
    ],
    [
      'is called by a function',
      (app) => {
        const router = Router().post('/', fails).use(hidesFailure);
        app.use(Router().use(router), withTransaction(), (req, res, next) => router(req, res, next));
      },
    ],
  ])('a handler that fails is rolled back, whatever its error handler says, where the router %s', async (_, mount) => {
    const { app, pool, container } = fresh(create);
    mount(app);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect([response.status, await response.json()]).toEqual([200, 'all is well']);
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });

  it.each<[where: string, mount: (app: Express) => unknown]>([
    ['opens it', (app) => app.use(Router().post('/', withTransaction(), succeeds))],
    ['stands behind it', (app) => app.use(withTransaction(), Router().post('/', succeeds))],
    [
      'lets the request pass',
      (app) =>
        app.use(
          withTransaction(),
          Router().use((_req, _res, next) => next()),
          succeeds,
        ),
    ],
  ])('a handler that succeeds is committed, where the router %s', async (_, mount) => {
    const { app, pool, container } = fresh(create);
    mount(app);
    const { post, close } = await serve(app);
    expect((await post('/')).status).toBe(201);
    await close();
    expect(pool.stored).toEqual(['order']);
    await expectAllEnded({ container, pool });
  });

  it('a handler that fails is rolled back, though its route was mounted after the first transaction', async () => {
    const { app, pool } = fresh(create);
    app.post('/first', withTransaction(), succeeds);
    const { post } = await serve(app);
    expect((await post('/first')).status).toBe(201);
    app.use(Router().post('/', withTransaction(), fails).use(hidesFailure));
    expect((await post('/')).status).toBe(200);
    expect(pool.stored).toEqual(['order']);
  });

  it('what nobody responds to is not stored', async () => {
    const { app, pool } = fresh(create);
    app.use(
      Router().post('/', withTransaction(), async (req, _res, next) => {
        await store(req, 'order');
        next();
      }),
    );
    expect((await (await serve(app)).post('/')).status).toBe(404);
    expect(pool.stored).toEqual([]);
  });
});

describe.each(versions)('in an application of %s', (_version, create) => {
  const { Router } = create;

  it.each<[where: string, mount: (app: Express) => unknown]>([
    [
      'stands behind one that comes before its route and would pass it on',
      (app) => {
        app.use(passesOn);
        app.post('/', withTransaction(), fails);
        app.use(respondToError);
      },
    ],
    [
      'of the application around comes behind one that would pass it on',
      (app) => {
        const inner = create();
        inner.post('/', withTransaction(), fails);
        app.use(passesOn);
        app.use(inner);
        app.use(respondToError);
      },
    ],
    [
      'stands before it, and a function opens the transaction',
      (app) => {
        const open = withTransaction();
        app.use(passesOn);
        app.post('/', (req, res, next) => open(req, res, next), fails);
        app.use(respondToError);
      },
    ],
    [
      'of a router comes behind one that leaves its transaction open',
      (app) => {
        app.use(Router().use(withTransaction()).use(passesOn, respondToError));
        app.use(Router().post('/', fails).use(respondToError));
        app.use(passesOn, respondToError);
      },
    ],
    [
      'of an application stands behind it',
      (app) => {
        app.use(withTransaction(), create().post('/', fails).use(respondToError));
      },
    ],
    [
      'hears of it, and a function opens the transaction and waits for it',
      (app) => {
        const open = withTransaction();
        app.post('/', async (req, res, next) => {
          await new Promise<void>((resolve) => open(req, res, () => resolve()));
          await store(req, 'order');
          next(new Error('boom'));
        });
        app.use(respondToError);
      },
    ],
  ])('a handler that fails is rolled back where an error handler %s', async (_where, mount) => {
    const { app, pool, container } = fresh(create);
    mount(app);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect([response.status, await response.json()]).toEqual([500, { error: 'boom' }]);
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });

  it.each<[what: string, mount: (app: Express) => unknown]>([
    ['an application stands behind it', (app) => app.use(withTransaction(), create().post('/', succeeds))],
    [
      'a function calls an application',
      (app) => {
        const inner = create().post('/', succeeds);
        app.use(withTransaction(), (req, res) => inner(req, res));
      },
    ],
    [
      'a function opens the transaction and waits for it',
      (app) => {
        const open = withTransaction();
        app.post('/', async (req, res, next) => {
          await new Promise<void>((resolve) => open(req, res, () => resolve()));
          await succeeds(req, res, next);
        });
      },
    ],
  ])('a handler that succeeds is committed where %s', async (_what, mount) => {
    const { app, pool, container } = fresh(create);
    mount(app);
    const { post, close } = await serve(app);
    expect((await post('/')).status).toBe(201);
    await close();
    expect(pool.stored).toEqual(['order']);
    await expectAllEnded({ container, pool });
  });

  it('a function that calls an application without `next` is rolled back where that one ends with an error', async () => {
    const { app, pool } = fresh(create);
    const inner = create().set('env', 'test').post('/', fails);
    app.use(withTransaction(), (req, res) => inner(req, res));
    expect((await (await serve(app)).post('/')).status).toBe(500);
    expect(pool.stored).toEqual([]);
  });

  it('what OPTIONS is responded to with leaves, though no handler wrote it', async () => {
    const { app, pool } = fresh(create);
    app.use(
      withTransaction(),
      Router().use((_req, _res, next) => next()),
    );
    app.post('/', succeeds);
    const response = await (await serve(app)).fetch('/', { method: 'OPTIONS' });
    expect([response.status, response.headers.get('allow')]).toEqual([200, 'POST']);
    expect(pool.violations).toEqual([]);
  });

  it.each([undefined, null, 0, '', false, Number.NaN])(
    'what throws %s, which is `next()` to Express, stores nothing',
    async (thrown) => {
      const { app, pool } = fresh(create);
      app.post('/', withTransaction(), (req) => {
        void store(req, 'order').catch(() => undefined);
        throw thrown;
      });
      expect((await (await serve(app)).post('/')).status).toBe(404);
      expect(pool.stored).toEqual([]);
    },
  );
});
