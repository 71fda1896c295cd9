import { tmpdir } from 'node:os';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { application, expectAllEnded, serve, store } from './support/app.js';
import { older } from './support/versions.js';

const boom = (): never => {
  throw new Error('boom');
};

/** Each has written, and fails in Express's own hands, which pass the error to the router alone. */
const failing: readonly [what: string, status: number, handler: RequestHandler][] = [
  ['res.render()', 500, (req, res) => store(req, 'order').then(() => res.render('missing.html'))],
  ['res.sendFile()', 404, (req, res) => store(req, 'order').then(() => res.sendFile('/no/such.file'))],
  ['res.sendFile() of a directory', 404, (req, res) => store(req, 'order').then(() => res.sendFile(tmpdir()))],
  ['res.download()', 404, (req, res) => store(req, 'order').then(() => res.download('/no/such.file'))],
  ['res.format()', 406, (req, res) => store(req, 'order').then(() => void res.format({}))],
];

/** The head counts as sent, so Express closes the connection, as it does without a transaction. */
const behindHead: RequestHandler = async (req, res) => {
  await store(req, 'order');
  res.writeHead(201, { 'x-more': '1' });
  res.render('missing.html');
};

const passesOn: ErrorRequestHandler = (error, _req, _res, next) => next(error);

const fresh = (create: typeof express = express) => {
  const { container, pool } = application();
  const app = create().set('env', 'test').set('view engine', 'html').engine('html', boom);
  return { app: app.use(containerMiddleware(container)), container, pool };
};

describe('a failure that no error handler of the application hears of is rolled back', () => {
  it.each(failing)('of %s', async (_what, status, handler) => {
    const { app, container, pool } = fresh();
    app.post('/', withTransaction(), handler);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect(response.status).toBe(status);
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });

  it('of res.render() behind writeHead()', async () => {
    const { app, container, pool } = fresh();
    app.post('/', withTransaction(), behindHead);
    const { post, close } = await serve(app);
    await expect(post('/')).rejects.toThrow('fetch failed');
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });

  it('of res.render() behind writeHead(), and is responded to where an error handler learns of it', async () => {
    const { app, pool } = fresh();
    app.post('/', withTransaction(), behindHead);
    app.use(passesOn);
    const response = await (await serve(app)).post('/');
    expect([response.status, response.headers.get('x-more')]).toEqual([500, null]);
    expect(pool.stored).toEqual([]);
  });

  it('of a path that cannot be decoded', async () => {
    const { app, pool } = fresh();
    app.use(withTransaction(), async (req, _res, next) => {
      await store(req, 'order');
      next();
    });
    app.post('/:id', (_req, res) => void res.end());
    expect((await (await serve(app)).post('/%ff')).status).toBe(400);
    expect(pool.stored).toEqual([]);
  });
});

describe.each(older)('on %s, which does not report failures', (_version, create) => {
  it.each(failing)('a failure of %s is rolled back', async (_what, status, handler) => {
    const { app, pool } = fresh(create);
    app.post('/', withTransaction(), handler);
    app.use(passesOn);
    expect((await (await serve(app)).post('/')).status).toBe(status);
    expect(pool.stored).toEqual([]);
  });
});

describe('a failure that was dealt with before the transaction began', () => {
  it('does not roll it back', async () => {
    const { app, pool } = fresh();
    app.use((_req, _res, next) => next(new Error('boom')));
    app.use(((_error, req, _res, _next) => req.next?.()) satisfies ErrorRequestHandler);
    app.post('/', withTransaction(), (req, res) => store(req, 'order').then(() => void res.end()));
    expect((await (await serve(app)).post('/')).status).toBe(200);
    expect(pool.stored).toEqual(['order']);
  });
});
