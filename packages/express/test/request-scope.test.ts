import { signal } from '@ambit/host-contract';
import { once } from 'node:events';
import { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { describe, expect, it, vi } from 'vitest';
import express from 'express';
import { containerMiddleware, resolve } from '../src/index.js';
import { respondToError, application, GET, registerEnding, serve } from './support/app.js';

describe('a request scope', () => {
  it('is tagged request and hangs below the application container', async () => {
    const { app, container } = application();
    app.get('/', (req, res) => {
      const [open] = openScopes(container);
      res.json({ tags: open?.tags, same: open === req.container });
    });
    const { fetch } = await serve(app);
    expect(await (await fetch('/')).json()).toEqual({ tags: ['request'], same: true });
  });

  it('is one for each request', async () => {
    const { app } = application();
    const seen = new Set<unknown>();
    app.get('/', (req, res) => {
      seen.add(req.container);
      res.end();
    });
    const { fetch } = await serve(app);
    await Promise.all([fetch('/'), fetch('/')]);
    expect(seen.size).toBe(2);
  });

  it('is disposed once when the response is sent', async () => {
    const ended = vi.fn<() => void>();
    const { app, container } = application();
    registerEnding(container, ended);
    app.get('/', (req, res) => {
      resolve(req, 'IEnding');
      res.end('done');
    });
    const { fetch, close } = await serve(app);
    await fetch('/');
    await close();
    expect(ended).toHaveBeenCalledOnce();
    expect(openScopes(container)).toEqual([]);
  });

  it('is disposed when the client leaves while the handler runs', async () => {
    const { app, container } = application();
    const handling = signal();
    const ended = signal();
    registerEnding(container, ended.resolve);
    app.get('/', (req) => {
      resolve(req, 'IEnding');
      handling.resolve();
    });
    const { socket } = await serve(app);
    const client = await socket();
    client.write(GET);
    await handling.promise;
    client.destroy();
    await ended.promise;
    expect(openScopes(container)).toEqual([]);
  });

  it('is disposed for each of many pipelined requests when their socket dies', async () => {
    const { app, container } = application();
    const handling = signal();
    const ended = signal();
    let arrived = 0;
    let over = 0;
    registerEnding(container, () => (over += 1) === 3 && ended.resolve());
    app.get('/', (req) => {
      resolve(req, 'IEnding');
      if ((arrived += 1) === 3) handling.resolve();
    });
    const { socket } = await serve(app);
    const client = await socket();
    client.write(GET.repeat(3));
    await handling.promise;
    client.resetAndDestroy();
    await ended.promise;
    expect(openScopes(container)).toEqual([]);
  });

  it('is disposed for an upload that is cut off', async () => {
    const { app, container } = application();
    const failed = signal();
    const ended = signal();
    registerEnding(container, ended.resolve);
    app.use((req, _res, next) => {
      resolve(req, 'IEnding');
      next();
    });
    app.use(express.json());
    app.use(((error, req, res, next) => {
      respondToError(error, req, res, next);
      failed.resolve();
    }) satisfies express.ErrorRequestHandler);
    const { socket } = await serve(app);
    const client = await socket();
    client.write('POST / HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":');
    client.end();
    client.destroy();
    await failed.promise;
    await ended.promise;
    expect(openScopes(container)).toEqual([]);
  });

  it('is disposed already when the client left before the middleware came to run', async () => {
    const container = new Container({ tags: ['application'] });
    const app = express();
    const arrived = signal();
    const refused = signal<unknown>();
    app.use(async (req, _res, next) => {
      arrived.resolve();
      await once(req.socket, 'close');
      setImmediate(next);
    });
    app.use(containerMiddleware(container), (req) => void resolve(req, 'IRequestSignal'));
    app.use(((error: unknown, _req, res, _next) => {
      refused.resolve(error);
      res.end();
    }) satisfies express.ErrorRequestHandler);
    const { socket } = await serve(app);
    const client = await socket();
    client.write(GET);
    await arrived.promise;
    client.destroy();
    expect(await refused.promise).toMatchObject({ code: 'AMBIT_DISPOSED' });
    expect(openScopes(container)).toEqual([]);
  });

  it('is disposed for both when the middleware is mounted twice', async () => {
    const { app, container } = application();
    app.get('/', containerMiddleware(container), (_req, res) => res.json(openScopes(container).length));
    const { fetch, close } = await serve(app);
    expect(await (await fetch('/')).json()).toBe(2);
    await close();
    expect(openScopes(container)).toEqual([]);
  });
});
