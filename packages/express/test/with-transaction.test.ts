import express from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';

describe('withTransaction()', () => {
  it('rolls back a response that rollbackOn of its router names', async () => {
    const { app, pool, container } = application();
    const router = express.Router();
    router.use(containerMiddleware(container, { rollbackOn: (status) => status >= 400 }));
    for (const path of [app.post.bind(app), router.post.bind(router)])
      path('/orders', withTransaction(), (req, res) => store(req, 'order').then(() => void res.status(409).json('no')));
    app.use('/inner', router);
    const server = await serve(app);
    expect([(await server.post('/inner/orders')).status, pool.stored]).toEqual([409, []]);
    expect([(await server.post('/orders')).status, pool.stored]).toEqual([409, ['order']]);
    await expectAllEnded({ container, pool });
  });

  it('refuses to run twice for one request', async () => {
    const { app, pool, container } = application();
    app.post('/', withTransaction(), withTransaction(), (_req, res) => void res.json('done'));
    app.use(respondToError);
    const response = await (await serve(app)).post('/');
    expect(await response.json()).toEqual({
      error: expect.stringContaining('[AMBIT_TX_ALREADY_OPEN, see docs/errors.md#'),
    });
    await expectAllEnded({ container, pool });
  });

  it('says what is missing when no request scope is there', async () => {
    const app = express().post('/', withTransaction()).use(respondToError);
    const response = await (await serve(app)).post('/');
    expect(await response.json()).toEqual({
      error: expect.stringContaining('[AMBIT_NO_SCOPE, see docs/errors.md#'),
    });
  });
});
