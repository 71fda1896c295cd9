import { signal } from '@ambit/test-kit';
import { text } from 'node:stream/consumers';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { application, expectAllEnded, POST, serve, store } from './support/app.js';

const begins: readonly [how: string, begin: (res: Response) => unknown][] = [
  ['res.flushHeaders()', (res) => res.flushHeaders()],
  ['res.write()', (res) => res.write('progress')],
  ['res.writeHead()', (res) => res.writeHead(200)],
];

const goOn: ErrorRequestHandler = (error, _req, _res, next) => next(error);

async function respond(before: RequestHandler, reached?: () => void, handleError = goOn) {
  const { app, pool, container } = application({ pool: { max: 1 } });
  const errors: unknown[] = [];
  let ran = false;
  app.set('env', 'test');
  app.post('/', before, withTransaction(), async (req, res) => {
    ran = true;
    await store(req, 'order');
    res.json('done');
  });
  app.use(((error, req, res, next) => {
    errors.push(error);
    void handleError(error, req, res, next);
  }) satisfies ErrorRequestHandler);
  const { socket, close } = await serve(app);
  const held = reached && (await pool.getConnection());
  const client = await socket();
  client.write(POST);
  reached?.();
  const received = text(client);
  return {
    received,
    errors,
    pool,
    held,
    ran: () => ran,
    end: () => close().then(() => expectAllEnded({ container, pool })),
  };
}

describe('a response that has begun before withTransaction()', () => {
  it.each(begins)('by %s is refused before anything is done, and gets no second head', async (_how, begin) => {
    const { received, errors, pool, ran, end } = await respond((_req, res, next) => {
      begin(res);
      next();
    });
    // Express's own error handler cuts a response that cannot be replaced.
    expect((await received).split('HTTP/1.1').length).toBeLessThanOrEqual(2);
    expect(errors).toEqual([expect.objectContaining({ code: 'AMBIT_HTTP_HEAD_SENT' })]);
    expect([ran(), pool.out, pool.stored]).toEqual([false, 0, []]);
    await end();
  });

  it.each(begins)('by %s while it waits for a connection is refused, too', async (_how, begin) => {
    const waiting = signal<Response>();
    const { received, errors, held, ran, pool, end } = await respond(
      (_req, res, next) => {
        next();
        waiting.resolve(res);
      },
      () => undefined,
    );
    begin(await waiting.promise);
    held?.release();
    expect((await received).split('HTTP/1.1').length).toBeLessThanOrEqual(2);
    expect(errors).toEqual([expect.objectContaining({ code: 'AMBIT_HTTP_HEAD_SENT' })]);
    expect([ran(), pool.stored]).toEqual([false, []]);
    await end();
  });
});
