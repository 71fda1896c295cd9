import { openScopes } from '@ambit/container/tools';
import express, { type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { responseOf, fails } from './support/response-of.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';

describe('withTransaction()', () => {
  it('gives the handler a scope tagged transaction, below that of the request', async () => {
    const { app, container } = application();
    app.post('/', withTransaction(), (req, res) => {
      const [request, transaction] = openScopes(container);
      res.json([transaction === req.transactionScope, transaction?.tags, transaction?.parent === request]);
    });
    expect(await (await (await serve(app)).post('/')).json()).toEqual([true, ['transaction'], true]);
  });

  it('commits what the handler did, and disposes the scope before the response leaves', async () => {
    const { app, pool, container } = application();
    const open: number[] = [];
    app.post('/', withTransaction(), async (req, res) => {
      const { write } = req.socket;
      req.socket.write = (...args: unknown[]): boolean => {
        open.push(openScopes(container).length);
        return Reflect.apply(write, req.socket, args) as boolean;
      };
      await store(req, 'order');
      res.status(201).json('done');
    });
    expect((await (await serve(app)).post('/')).status).toBe(201);
    expect(pool.stored).toEqual(['order']);
    expect(open[0]).toBe(1);
  });

  it('commits a response of 4xx', async () => {
    const handler: RequestHandler = (req, res) => store(req, 'attempt').then(() => void res.status(422).json('no'));
    expect(await responseOf(handler)).toMatchObject({ status: 422, stored: ['attempt'] });
  });

  it('rolls back a response that rollbackOn names', async () => {
    const options = { rollbackOn: (status: number) => status >= 400 };
    const handler: RequestHandler = (req, res) => store(req, 'attempt').then(() => void res.status(422).json('no'));
    expect(await responseOf(handler, { options })).toMatchObject({ status: 422, body: 'no', stored: [] });
  });

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

  it('rolls back when rollbackOn itself fails', async () => {
    const options = {
      rollbackOn: () => {
        throw new Error('undecided');
      },
    };
    const handler: RequestHandler = (req, res) => store(req, 'order').then(() => void res.json('done'));
    expect(await responseOf(handler, { options })).toMatchObject({
      status: 500,
      body: { error: 'undecided' },
      stored: [],
    });
  });

  it.each(['acquire', 'begin'])('passes the error on, and never runs the handler, when %s fails', async (point) => {
    let ran = false;
    const handler: RequestHandler = (_req, res) => {
      ran = true;
      res.json('done');
    };
    const { body } = await responseOf(handler, { pool: fails(point) });
    expect(body).toEqual({
      error: expect.stringMatching(
        /^(No connection could be acquired|BEGIN failed)\. .*\[AMBIT_TX_(ACQUIRE|BEGIN)_FAILED, see .*\]$/,
      ),
    });
    expect(ran).toBe(false);
  });

  it('responds 503 when no connection becomes free in time', async () => {
    const { app, pool } = application({ pool: { max: 1, acquireTimeoutMs: 10 } });
    const held = await pool.getConnection();
    app.post('/', withTransaction(), (_req, res) => void res.json('done'));
    app.use(respondToError);
    const response = await (await serve(app)).post('/');
    expect(response.status).toBe(503);
    held.release();
    expect(pool.out).toBe(0);
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
