import { signal } from '@ambit/test-kit';
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express';
import { describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { once } from 'node:events';
import { withTransaction } from '../src/index.js';
import { application, expectAllEnded, GET, POST, respondToError, serve, store, fails } from './support/app.js';

const seconds: readonly [name: string, respond: (res: Response) => unknown][] = [
  ['json', (res) => res.status(500).json('second')],
  ['send', (res) => res.status(500).send('second')],
  ['end', (res) => res.end('second')],
  ['sendStatus', (res) => res.sendStatus(500)],
  ['redirect', (res) => res.redirect('/elsewhere')],
  ['write', (res) => res.write('second')],
  ['writeHead', (res) => res.writeHead(500)],
];

describe('a second response', () => {
  it.each(seconds)('by %s is dropped and reported', async (_name, respond) => {
    const reported = signal<unknown>();
    const { app, pool, container } = application();
    app.post('/here', withTransaction({ onSecondResponse: reported.resolve }), async (req, res) => {
      await store(req, 'order');
      res.status(201).json('first');
      respond(res);
    });
    const { post, close } = await serve(app);
    const response = await post('/here');
    expect([response.status, await response.json()]).toEqual([201, 'first']);
    expect(await reported.promise).toMatchObject({
      code: 'AMBIT_HTTP_RESPONSE_DROPPED',
      message: expect.stringContaining('another one came first'),
    });
    expect(await reported.promise).toHaveProperty('message', expect.stringContaining('POST /here'));
    await close();
    expect(pool.stored).toEqual(['order']);
    await expectAllEnded({ container, pool });
  });

  /** The first call that changes the head throws in the handler, as it does without a transaction. */
  const late = seconds.filter(([name]) => name !== 'sendStatus' && name !== 'redirect');

  it.each(late)('by %s is dropped after the first has been sent, too', async (_name, respond) => {
    const reported = signal<unknown>();
    const { app } = application();
    app.post('/', withTransaction({ onSecondResponse: reported.resolve }), (_req, res) => {
      res.on('finish', () => void respond(res));
      res.json('first');
    });
    expect(await (await (await serve(app)).post('/')).json()).toBe('first');
    expect(await reported.promise).toMatchObject({
      code: 'AMBIT_HTTP_RESPONSE_DROPPED',
      message: expect.stringContaining('another one came first'),
    });
  });
});

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

it('a response that its handler destroys rolls back', async () => {
  const { app, pool, container } = application();
  app.post('/', withTransaction(), (req, res) => store(req, 'order').then(() => void res.destroy()));
  await expect((await serve(app)).post('/')).rejects.toThrow();
  await expectAllEnded({ container, pool });
  expect(pool.stored).toEqual([]);
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

/** Longer than a handler needs for a statement, also on a slow machine. */
const SHORT = { timeoutMs: 1000 };

describe('a handler that has not responded when its transaction reaches its time limit', () => {
  it('does not get its late success through, though the error handler takes its time', async () => {
    const { app, pool, container } = application();
    const [reported, handled] = [signal<unknown>(), signal()];
    app.set('env', 'test');
    app.post('/', withTransaction({ ...SHORT, onSecondResponse: reported.resolve }), async (req, res) => {
      await store(req, 'order');
      await handled.promise;
      res.status(201).json('late');
    });
    app.use((async (error, _req, res, _next) => {
      handled.resolve();
      await new Promise((go) => setImmediate(go));
      res.status(error.status).json({ error: error.code });
    }) satisfies ErrorRequestHandler);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ error: 'AMBIT_TX_TIMEOUT' });
    const dropped = { code: 'AMBIT_HTTP_RESPONSE_DROPPED', cause: { code: 'AMBIT_TX_TIMEOUT' } };
    expect(await reported.promise).toMatchObject(dropped);
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });

  it('is not responded for with a success of the error handler', async () => {
    const { app, pool } = application();
    app.set('env', 'test');
    app.post('/', withTransaction(SHORT), (req) => store(req, 'order'));
    app.use(((_error, _req, res, _next) => void res.json('fine')) satisfies ErrorRequestHandler);
    expect((await (await serve(app)).post('/')).status).toBe(503);
    expect(pool.stored).toEqual([]);
  });

  it('does not cut the connection when it fails later', async () => {
    const { app, pool, container } = application();
    const responded = signal();
    app.post('/', withTransaction(SHORT), async (req, res) => {
      res.once('finish', responded.resolve);
      await responded.promise;
      await store(req, 'order');
    });
    app.get('/', (_req, res) => void res.end('still here'));
    app.use(respondToError);
    const { socket, close } = await serve(app);
    const client = await socket();
    client.write(POST);
    const [first] = (await once(client, 'data')) as [Buffer];
    expect(String(first)).toMatch(/^HTTP\/1\.1 503 /);
    client.write(GET);
    const [second] = (await once(client, 'data')) as [Buffer];
    expect(String(second)).toContain('still here');
    client.destroy();
    await close();
    await expectAllEnded({ container, pool });
  });

  it('is not interrupted when its response is on its way', async () => {
    const { app, pool } = application({
      pool: { faultAt: (at) => ({ ms: at === 'commit' ? 2100 : 0, kind: 'none' }) },
    });
    app.post('/', withTransaction({ timeoutMs: 2000 }), async (req, res) => {
      await store(req, 'order');
      res.status(201).json('done');
    });
    expect((await (await serve(app)).post('/')).status).toBe(201);
    expect(pool.stored).toEqual(['order']);
  });
});

const FIRST_HALF = 'POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 8\r\n\r\nhalf';

describe('a COMMIT that fails while its request still comes in', () => {
  it('is responded to when all of it came, and a second response until then is dropped', async () => {
    const reported = signal<unknown>();
    const refused = signal();
    const { app, container, pool } = application({ pool: fails('commit') });
    app.set('env', 'test');
    app.post('/', withTransaction({ onSecondResponse: reported.resolve }), async (req, res) => {
      await store(req, 'order');
      // Only when the first response is refused does anybody read the rest of the request.
      req.once('resume', () => {
        res.json('second');
        refused.resolve();
      });
      res.json('first');
    });
    const { close, socket } = await serve(app);
    const client = await socket();
    client.write(FIRST_HALF);
    await refused.promise;
    client.write('half');
    const [response] = (await once(client, 'data')) as [Buffer];
    expect(String(response)).toMatch(/^HTTP\/1\.1 500 /);
    expect(await reported.promise).toMatchObject({ code: 'AMBIT_HTTP_RESPONSE_DROPPED' });
    await close();
    await expectAllEnded({ container, pool });
  });

  it('goes to the error handler when its client leaves instead', async () => {
    const refused = signal();
    const handled = signal<unknown>();
    const { app, container, pool } = application({ pool: fails('commit') });
    app.post('/', withTransaction(), async (req, res) => {
      await store(req, 'order');
      req.once('resume', () => refused.resolve());
      res.json('first');
    });
    app.use(((error: unknown, _req, _res, _next) => handled.resolve(error)) satisfies ErrorRequestHandler);
    const { socket } = await serve(app);
    const client = await socket();
    client.write(FIRST_HALF);
    await refused.promise;
    client.destroy();
    expect(await handled.promise).toMatchObject({ code: 'AMBIT_TX_COMMIT_FAILED' });
    await expectAllEnded({ container, pool });
  });
});
