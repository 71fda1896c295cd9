import { signal } from '@ambit/host-contract';
import type { ErrorRequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { application, expectAllEnded, POST, serve, store } from './support/app.js';

describe('a client that leaves', () => {
  it('before the response has its transaction rolled back at once', async () => {
    const { app, pool, container } = application();
    const written = signal();
    app.post('/', withTransaction(), async (req) => {
      await store(req, 'order');
      written.resolve();
    });
    const { socket } = await serve(app);
    const client = await socket();
    client.write(POST);
    await written.promise;
    client.destroy();
    await expectAllEnded({ container, pool });
    expect(pool.stored).toEqual([]);
  });

  it('has it rolled back whatever its handler responds then, and no error handler is called', async () => {
    const { app, container, pool } = application();
    const [begun, responded] = [signal(), signal()];
    const refused: unknown[] = [];
    app.post('/', withTransaction(), (req, res) => {
      res.once('close', () => {
        res.json('too late');
        setImmediate(responded.resolve);
      });
      void store(req, 'order').then(() => begun.resolve());
    });
    app.use(((error: unknown, _req, _res, _next) => void refused.push(error)) satisfies ErrorRequestHandler);
    const { socket } = await serve(app);
    const client = await socket();
    client.write(POST);
    await begun.promise;
    client.destroy();
    await responded.promise;
    await expectAllEnded({ container, pool });
    expect([refused, pool.stored]).toEqual([[], []]);
  });

  it('while it waits for a connection gets none', async () => {
    const { app, pool, container } = application({ pool: { max: 1 } });
    const held = await pool.getConnection();
    const refused: unknown[] = [];
    app.post('/', withTransaction());
    app.use(((error: unknown, _req, res, _next) => {
      refused.push(error);
      res.end();
    }) satisfies ErrorRequestHandler);
    const { socket, server } = await serve(app);
    const arrived = signal();
    server.once('request', () => arrived.resolve());
    const client = await socket();
    client.write(POST);
    await arrived.promise;
    client.destroy();
    await expect.poll(() => pool.size.waiting).toBe(0);
    held.release();
    await expectAllEnded({ container, pool });
    expect(refused).toEqual([]);
  });

  it('after COMMIT was sent changes nothing', async () => {
    const committing = signal();
    const { app, pool, container } = application({
      pool: {
        faultAt: (point) => {
          if (point === 'commit') committing.resolve();
          return { ms: point === 'commit' ? 20 : 0, kind: 'none' };
        },
      },
    });
    app.post('/', withTransaction(), (req, res) => void store(req, 'order').then(() => res.json('done')));
    const { socket } = await serve(app);
    const client = await socket();
    client.write(POST);
    await committing.promise;
    client.destroy();
    await expectAllEnded({ container, pool });
    expect(pool.stored).toEqual(['order']);
  });
});
