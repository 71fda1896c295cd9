import { fileURLToPath } from 'node:url';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';

type Respond = (res: Response, req: Request) => unknown;

const SLOW_COMMIT = { faultAt: (point: string) => ({ ms: point === 'commit' ? 20 : 0, kind: 'none' as const }) };

const responses: readonly [name: string, respond: Respond, status: number, text: string][] = [
  ['send with bytes', (res) => res.send(Buffer.from('done')), 200, 'done'],
  ['send with an object', (res) => res.send({ id: '1' }), 200, '{"id":"1"}'],
  ['jsonp', (res) => res.jsonp({ id: '1' }), 200, '{"id":"1"}'],
  ['end with a body and a callback', (res) => res.end('done', () => undefined), 200, 'done'],
  ['end with a callback only', (res) => res.end(() => undefined), 200, ''],
  ['sendStatus', (res) => res.sendStatus(202), 202, 'Accepted'],
  ['writeHead and end', (res) => res.writeHead(202, { 'x-more': '1' }).end('done'), 202, 'done'],
  ['write and end', (res) => [res.write('do'), res.write('ne'), res.end()], 200, 'done'],
  ['flushHeaders, then a body', (res) => [res.flushHeaders(), res.end('done')], 200, 'done'],
  ['sendFile', (res) => res.sendFile(fileURLToPath(new URL('support/done.txt', import.meta.url))), 200, 'done'],
];

describe('the first response', () => {
  it.each(responses)('%s: not a byte leaves before COMMIT has succeeded', async (_name, respond, status, text) => {
    const { app, pool, container } = application({ pool: SLOW_COMMIT });
    const storedAtFirstByte: number[] = [];
    app.post('/', watchFirstByte(storedAtFirstByte, pool), withTransaction(), async (req, res) => {
      await store(req, 'order');
      respond(res, req);
    });
    const { post, close } = await serve(app);
    const response = await post('/');
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(text);
    expect(storedAtFirstByte).toEqual([1]);
    await close();
    await expectAllEnded({ container, pool });
  });

  it('goes out with the head it had, whatever is done to the head while it waits', async () => {
    const { app } = application({ pool: SLOW_COMMIT });
    app.post('/', withTransaction(), (_req, res) => {
      res.status(201).set('X-Early', '1').json('first');
      res.status(500).set('X-Late', '1').removeHeader('X-Early');
    });
    const { status, headers } = await (await serve(app)).post('/');
    expect([status, headers.get('x-early'), headers.get('x-late')]).toEqual([201, '1', null]);
  });

  it('is held back on the way out of a mounted application, too', async () => {
    const { app, pool } = application({ pool: SLOW_COMMIT });
    const storedAtFirstByte: number[] = [];
    const mounted = express().post('/', async (req, res) => {
      await store(req, 'order');
      res.json('done');
    });
    app.use(watchFirstByte(storedAtFirstByte, pool), withTransaction(), mounted);
    expect(await (await (await serve(app)).post('/')).json()).toBe('done');
    expect(storedAtFirstByte).toEqual([1]);
  });
});

describe('while the first part of a stream waits', () => {
  it('the headers count as sent', async () => {
    const { app } = application({ pool: SLOW_COMMIT });
    const seen: unknown[] = [];
    app.post('/', withTransaction(), (_req, res) => {
      seen.push(res.headersSent, res.write('do'), res.headersSent);
      for (const change of [() => res.set('X-Late', '1'), () => res.writeHead(500), () => res.json({})]) {
        expect(change).toThrow(expect.objectContaining({ code: 'ERR_HTTP_HEADERS_SENT' }));
      }
      res.once('drain', () => {
        seen.push(res.headersSent);
        res.end('ne');
      });
    });
    expect(await (await (await serve(app)).post('/')).text()).toBe('done');
    expect(seen).toEqual([false, false, true, true]);
  });

  it('a handler that fails breaks the response off, as it does without a transaction', async () => {
    const { app, pool, container } = application({ pool: SLOW_COMMIT });
    app.post('/', withTransaction(), async (req, res) => {
      await store(req, 'order');
      res.write('do');
      throw new Error('broken');
    });
    app.use(respondToError);
    const { post, close } = await serve(app);
    await expect(post('/').then((response) => response.text())).rejects.toThrow();
    await close();
    await expectAllEnded({ container, pool });
    expect(pool.stored).toEqual(['order']);
  });
});

/** Notes how much the database had stored when the first byte went out. */
function watchFirstByte(noted: number[], pool: { readonly stored: readonly string[] }): RequestHandler {
  return ({ socket }, _res, next) => {
    const { write } = socket;
    socket.write = (...args: unknown[]): boolean => {
      if (noted.length === 0) noted.push(pool.stored.length);
      return Reflect.apply(write, socket, args) as boolean;
    };
    next();
  };
}
