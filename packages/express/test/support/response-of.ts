import type { FakeFault } from '@ambit/transaction/testing';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { withTransaction, type WithTransactionOptions } from '../../src/index.js';
import { respondToError, application, expectAllEnded, serve } from './app.js';

/** A database on which one thing fails. */
export const fails = (at: string, kind: FakeFault['kind'] = 'refused') => ({
  faultAt: (point: string): FakeFault => ({ ms: 0, kind: point === at ? kind : 'none' }),
});

/** Serves one handler in a transaction, sends one request, and looks at what is left. */
export async function responseOf(
  handler: RequestHandler,
  setup: { pool?: object; options?: WithTransactionOptions } = {},
) {
  const { app, pool, container } = application({ pool: setup.pool ?? {} });
  app.use((_req, res, next) => {
    res.set('X-Of-Every-Response', '1');
    next();
  });
  app.post('/', withTransaction(setup.options), handler);
  const errors: unknown[] = [];
  const note: ErrorRequestHandler = (error, _req, _res, next) => {
    errors.push(error);
    next(error);
  };
  app.use(note, respondToError);
  const { post, close } = await serve(app);
  const response = await post('/');
  const body: unknown = await response.json();
  await close();
  await expectAllEnded({ container, pool });
  return { status: response.status, headers: response.headers, body, errors, stored: pool.stored };
}
