import express, { type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withDeps, withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';
import { older } from './support/versions.js';

const boom = (): never => {
  throw new Error('boom');
};

/** Each has written, and fails. */
const failing: Readonly<Record<string, RequestHandler>> = {
  'throws at once': (req) => {
    void store(req, 'order').catch(() => undefined);
    boom();
  },
  'calls next(error)': async (req, _res, next) => {
    await store(req, 'order');
    next(new Error('boom'));
  },
  'throws in withDeps()': withDeps({}, boom),
  'rejects in withDeps()': withDeps({}, (req) => store(req, 'order').then(boom)),
};

/** Express 4 does not look at what a handler returns. */
const failingOnExpress5: Readonly<Record<string, RequestHandler>> = {
  rejects: (req) => store(req, 'order').then(boom),
  'fails in a router in a router': express
    .Router()
    .use(express.Router().post('/', (req) => store(req, 'order').then(boom))),
  'answers with what cannot be serialised': (req, res) => store(req, 'order').then(() => void res.json({ size: 1n })),
  'ends with what is no body': (req, res) => store(req, 'order').then(() => void res.end({ size: 1 })),
  'sets a status that cannot be': (req, res) =>
    store(req, 'order').then(() => {
      res.statusCode = 1000;
      res.end();
    }),
  'writes its head, then rejects': (req, res) =>
    store(req, 'order')
      .then(() => void res.writeHead(201, { 'x-more': '1' }))
      .then(boom),
};

describe('a handler that fails is rolled back, no matter who responds', () => {
  it.each(Object.entries({ ...failing, ...failingOnExpress5 }))('when it %s', async (_name, handler) => {
    const { app, pool, container } = application();
    app.post('/', withTransaction(), handler);
    app.use(respondToError);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect(response.status).toBe(500);
    expect(response.headers.get('x-more')).toBeNull();
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });

  it('and its connection refuses it everything from then on', async () => {
    const { app, pool, container } = application();
    app.post('/', withTransaction(), failing['calls next(error)']!);
    app.use((async (_error, req, res, _next) => {
      const refusal = await store(req, 'too late').catch((error: unknown) => error);
      res.status(500).json(refusal);
    }) satisfies express.ErrorRequestHandler);
    const response = await (await serve(app)).post('/');
    expect(await response.json()).toMatchObject({ code: expect.stringMatching('AMBIT_(DISPOSED|TX_FINISHED)') });
    await expectAllEnded({ container, pool });
  });

  it('but not when it only left the route', async () => {
    const { app, pool } = application();
    app.post('/', withTransaction(), async (req, _res, next) => {
      await store(req, 'order');
      next('route');
    });
    app.post('/', (_req, res) => void res.json('done'));
    expect((await (await serve(app)).post('/')).status).toBe(200);
    expect(pool.stored).toEqual(['order']);
  });
});

describe.each(older)('on %s, which does not report failures', (_version, create) => {
  const fresh = (): ReturnType<typeof application> => {
    const made = application();
    return { ...made, app: create().use(containerMiddleware(made.container)) };
  };

  it.each(Object.entries(failing))('a handler that %s is rolled back', async (_name, handler) => {
    const { app, pool, container } = fresh();
    app.post('/', withTransaction(), handler);
    app.use(respondToError);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect([response.status, await response.json()]).toEqual([500, { error: 'boom' }]);
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });
});
