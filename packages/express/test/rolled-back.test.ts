import { signal } from '@ambit/test-kit';
import { setTimeout as after } from 'node:timers/promises';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { fails } from './support/faults.js';
import { application, expectAllEnded, serve, store } from './support/app.js';
import { versions } from './support/versions.js';

/** Serves one handler, whose error handler responds when the test says so. */
async function responseOf(
  create: (typeof versions)[number][1],
  pool: object,
  handler: (happened: ReturnType<typeof happenings>) => RequestHandler,
  options: { respond?: ErrorRequestHandler } = {},
) {
  const { app: outer, pool: database, container } = application({ pool });
  const happened = happenings();
  const reported: unknown[] = [];
  const app = create();
  app.post('/', withTransaction({ onSecondResponse: (error) => void reported.push(error) }), handler(happened));
  const seen: unknown[] = [];
  const note: ErrorRequestHandler = (error, _req, _res, next) => {
    seen.push(error.code ?? error.message);
    next(error);
  };
  const respondLate: ErrorRequestHandler = async (_error, _req, res, _next) => {
    happened.handled.resolve();
    await happened.responded.promise;
    res.status(500).json({ error: 'from the error handler' });
  };
  app.use(note, options.respond ?? respondLate);
  outer.use(app);
  const { post, close } = await serve(outer);
  const response = await post('/');
  const text = await response.text();
  await close();
  await expectAllEnded({ container, pool: database });
  return {
    status: response.status,
    text,
    location: response.headers.get('location'),
    seen,
    reported,
    stored: database.stored,
  };
}

const happenings = () => ({ handled: signal(), responded: signal() });

const TRUE_RESPONSE = { status: 500, text: '{"error":"from the error handler"}', location: null, stored: [] };
/** It names what has failed before it. */
const DROPPED = expect.objectContaining({
  code: 'AMBIT_HTTP_RESPONSE_DROPPED',
  cause: expect.any(Error) as Error,
});

describe.each(versions)('while the error handler takes its time, on %s,', (_version, create) => {
  it('a success of another branch of the handler that failed does not leave', async () => {
    const result = await responseOf(create, {}, ({ handled, responded }) => async (req, res, next) => {
      const place = async (): Promise<void> => {
        await store(req, 'order');
        await handled.promise;
        res.status(201).location('/orders/1').json('placed');
        responded.resolve();
      };
      const audit = (): Promise<never> => Promise.reject(new Error('audit is down'));
      try {
        await Promise.all([place(), audit()]);
      } catch (error) {
        next(error);
      }
    });
    expect(result).toMatchObject({ ...TRUE_RESPONSE, seen: ['audit is down'], reported: [DROPPED] });
    expect(result.reported).toMatchObject([{ cause: { message: 'audit is down' } }]);
  });

  it('a second success of the handler does not leave when COMMIT was refused', async () => {
    const result = await responseOf(create, fails('commit'), ({ handled, responded }) => async (req, res) => {
      await store(req, 'order');
      res.status(201).json('first');
      await handled.promise;
      res.status(201).json('second');
      responded.resolve();
    });
    expect(result).toMatchObject({ ...TRUE_RESPONSE, seen: ['AMBIT_TX_COMMIT_FAILED'], reported: [DROPPED] });
  });

  it.each([
    ['text', (res: Parameters<RequestHandler>[1]) => res.write('b') && res.end('c')],
    ['JSON', (res: Parameters<RequestHandler>[1]) => res.json({ id: 1 })],
  ])('the rest of a stream (%s) does not leave when COMMIT was refused', async (_name, goOn) => {
    const result = await responseOf(create, fails('commit'), ({ handled, responded }) => async (req, res) => {
      await store(req, 'order');
      res.status(201).write('a');
      await handled.promise;
      goOn(res);
      responded.resolve();
    });
    expect(result).toMatchObject({ ...TRUE_RESPONSE, seen: ['AMBIT_TX_COMMIT_FAILED'] });
  });

  it('and responds with a success itself, the client gets a plain error', async () => {
    const respond: ErrorRequestHandler = async (_error, _req, res, _next) => {
      await after(1);
      res.json('fine');
    };
    const fail: RequestHandler = async (req, _res, next) => {
      await store(req, 'order');
      next(new Error('secret'));
    };
    const result = await responseOf(create, {}, () => fail, { respond });
    expect(result).toMatchObject({
      status: 500,
      text: '{"error":"Internal Server Error"}',
      stored: [],
      reported: [DROPPED],
    });
  });
});

describe.each(versions)('a handler on %s that goes on while COMMIT is in progress', (_version, create) => {
  const goesOn = (error?: unknown): RequestHandler => {
    return async (req, res, next) => {
      await store(req, 'order');
      res.status(201).json('done');
      next(error);
    };
  };
  const respond: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).json({ error: error.code });

  it.each([
    ['fails', new Error('too late')],
    ['calls next()', undefined],
  ])('and %s: the error handler gets the error of COMMIT', async (_name, error) => {
    const result = await responseOf(create, fails('commit'), () => goesOn(error), { respond });
    expect(result).toMatchObject({
      status: 500,
      text: '{"error":"AMBIT_TX_COMMIT_FAILED"}',
      seen: ['AMBIT_TX_COMMIT_FAILED'],
      reported: error ? [error] : [],
    });
  });

  it('and fails undoes nothing', async () => {
    const result = await responseOf(create, {}, () => goesOn(new Error('too late')), { respond });
    expect(result).toMatchObject({
      status: 201,
      text: '"done"',
      seen: ['too late'],
      reported: [{ code: 'AMBIT_HTTP_RESPONSE_DROPPED' }],
    });
    expect(result.stored).toEqual(['order']);
  });
});
