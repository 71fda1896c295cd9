import { inspect } from 'node:util';
import type { IConnection } from '@ambit/transaction';
import express, { type Request, type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';
import { responseOf, fails } from './support/response-of.js';

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

describe('when COMMIT fails', () => {
  const created: RequestHandler = (req, res) =>
    store(req, 'order').then(
      () => void res.status(201).location('/orders/1').set('Cache-Control', 'public').json('done'),
    );

  it('the client gets the error, with nothing of the response that was refused', async () => {
    const { status, headers, body, stored } = await responseOf(created, { pool: fails('commit') });
    expect(status).toBe(500);
    expect(body).toEqual({ error: expect.stringContaining('[AMBIT_TX_COMMIT_FAILED,') });
    expect([headers.get('location'), headers.get('cache-control'), headers.get('x-of-every-response')]).toEqual([
      null,
      null,
      '1',
    ]);
    expect(stored).toEqual([]);
  });

  it('the error says nothing of what the driver said', async () => {
    const { body, errors } = await responseOf(created, { pool: fails('commit', 'lost') });
    const said = 'the connection died';
    // The causes included.
    expect(inspect(errors)).toContain(said);
    expect(body).toEqual({ error: expect.stringContaining('[AMBIT_TX_OUTCOME_UNKNOWN,') });
    expect(JSON.stringify(body)).not.toContain(said);
  });

  it.each(['lost', 'lost after'] as const)(
    'without a response (%s), the client receives that the outcome is unknown',
    async (kind) => {
      const { status, body } = await responseOf(created, { pool: fails('commit', kind) });
      expect(status).toBe(503);
      expect(body).toEqual({ error: expect.stringContaining('[AMBIT_TX_OUTCOME_UNKNOWN,') });
    },
  );
});

describe('a handler that knows of a failure', () => {
  it('may say so with 4xx, though the transaction can only roll back', async () => {
    const conflict: RequestHandler = (req, res) =>
      store(req, 'order').then(
        () => void res.status(201).json('done'),
        () => void res.status(409).json('it exists'),
      );
    expect(await responseOf(conflict, { pool: fails('query') })).toMatchObject({
      status: 409,
      body: 'it exists',
      stored: [],
    });
  });

  it('may roll back by itself and say so with 4xx', async () => {
    const handler: RequestHandler = async (req, res) => {
      await store(req, 'order');
      await req.transactionScope?.resolve<IConnection>('IConnection').rollback();
      res.status(409).json('sold out');
    };
    expect(await responseOf(handler)).toMatchObject({ status: 409, body: 'sold out', stored: [] });
  });

  it.each([
    ['swallows it', (req) => store(req, 'order').catch(() => undefined), 'FAILED', fails('query')],
    ['rolls back', (req) => req.transactionScope!.resolve<IConnection>('IConnection').rollback(), 'FINISHED', {}],
  ] satisfies [string, (req: Request) => Promise<unknown>, string, object][])(
    'but %s may not claim success',
    async (_name, act, code, pool) => {
      const handler: RequestHandler = (req, res) => act(req).then(() => void res.status(201).json('done'));
      const { status, body } = await responseOf(handler, { pool });
      expect(status).toBe(500);
      expect(body).toEqual({ error: expect.stringContaining(`[AMBIT_TX_${code},`) });
    },
  );
});
