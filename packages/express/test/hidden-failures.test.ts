import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import type express from 'express';
// @ts-expect-error -- its types are those of the other major version
import express4 from 'express-4';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, rollbackOnError, withTransaction } from '../src/index.js';
import { answerError, application, serve, store } from './support/app.js';

const { Router } = express4 as typeof express;

const fails: RequestHandler = async (req, _res, next) => {
  await store(req, 'order');
  next(new Error('boom'));
};
const succeeds: RequestHandler = async (req, res) => {
  await store(req, 'order');
  res.status(201).json('done');
};
const answersWell: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(200).json('all is well');

async function answerOf(mount: (app: Express) => unknown) {
  const { container, pool } = application();
  const app = (express4 as typeof express)().use(containerMiddleware(container));
  mount(app);
  const response = await (await serve(app)).post('/');
  const body: unknown = await response.json();
  return { status: response.status, body, stored: pool.stored };
}

describe('on an Express that does not tell of failures, a transaction is refused', () => {
  it.each<[where: string, mount: (app: Express) => unknown]>([
    [
      'of its router stands before rollbackOnError',
      (app) => {
        app.use(Router().post('/', withTransaction(), fails).use(answerError));
        app.use(rollbackOnError, answerError);
      },
    ],
    [
      'of its route does',
      (app) => {
        app.post('/', withTransaction(), fails, answerError);
        app.use(rollbackOnError, answerError);
      },
    ],
    [
      'of a router behind it does',
      (app) => {
        app.use(withTransaction(), Router().post('/', fails).use(answerError));
        app.use(rollbackOnError, answerError);
      },
    ],
    [
      'of a router behind a route that is in order does',
      (app) => {
        app.post('/orders', withTransaction(), fails);
        app.use(Router().post('/', withTransaction(), fails).use(answerError));
        app.use(rollbackOnError, answerError);
      },
    ],
    [
      'stands behind a rollbackOnError that comes before its route',
      (app) => {
        app.use(rollbackOnError);
        app.post('/', withTransaction(), fails);
        app.use(answerError);
      },
    ],
    [
      'of the application around comes behind its rollbackOnError',
      (app) => {
        const inner = (express4 as typeof express)();
        inner.post('/', withTransaction(), fails);
        app.use(rollbackOnError);
        app.use(inner);
        app.use(answerError);
      },
    ],
    [
      'stands before it, and a function opens the transaction',
      (app) => {
        const open = withTransaction();
        app.use(rollbackOnError);
        app.post('/', (req, res, next) => open(req, res, next), fails);
        app.use(answerError);
      },
    ],
    [
      'of a router comes behind one that leaves its transaction open',
      (app) => {
        app.use(Router().use(withTransaction()).use(rollbackOnError, answerError));
        app.use(Router().post('/', fails).use(answerError));
        app.use(rollbackOnError, answerError);
      },
    ],
  ])('where an error handler %s', async (_where, mount) => {
    const { status, body, stored } = await answerOf(mount);
    expect(status).toBe(500);
    expect(body).toEqual({ error: expect.stringContaining('[AMBIT_HTTP_FAILURES_UNSEEN]') });
    expect(stored).toEqual([]);
  });

  it('but not where rollbackOnError stands before that one, too', async () => {
    const { body, stored } = await answerOf((app) => {
      app.use(Router().post('/', withTransaction(), fails).use(rollbackOnError, answersWell));
      app.use(rollbackOnError, answerError);
    });
    expect(body).toBe('all is well');
    expect(stored).toEqual([]);
  });

  it('and not where the application around has none', async () => {
    const { status, stored } = await answerOf((app) => {
      app.use(Router().post('/', withTransaction(), succeeds).use(rollbackOnError, answersWell));
    });
    expect(status).toBe(201);
    expect(stored).toEqual(['order']);
  });

  it('and not for the error handlers of a router that no transaction leads to', async () => {
    const { status, stored } = await answerOf((app) => {
      app.use('/other', Router().get('/', succeeds).use(answersWell));
      app.post('/', withTransaction(), succeeds);
      app.use(rollbackOnError, answerError);
    });
    expect(status).toBe(201);
    expect(stored).toEqual(['order']);
  });
});
