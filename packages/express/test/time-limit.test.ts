import { signal } from '@ambit/test-kit';
import { once } from 'node:events';
import type { ErrorRequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, GET, POST, serve, store } from './support/app.js';

/** Longer than a handler needs for a statement, also on a slow machine. */
const SHORT = { timeoutMs: 100 };

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
      pool: { faultAt: (at) => ({ ms: at === 'commit' ? 1100 : 0, kind: 'none' }) },
    });
    app.post('/', withTransaction({ timeoutMs: 1000 }), async (req, res) => {
      await store(req, 'order');
      res.status(201).json('done');
    });
    expect((await (await serve(app)).post('/')).status).toBe(201);
    expect(pool.stored).toEqual(['order']);
  });
});
