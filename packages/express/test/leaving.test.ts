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

  it('is why the transaction was rolled back, whatever its handler responds then', async () => {
    const { app, container, pool } = application();
    const [begun, refused] = [signal(), signal<unknown>()];
    app.post('/', withTransaction(), (_req, res) => {
      res.once('close', () => res.json('too late'));
      begun.resolve();
    });
    app.use(((error: unknown, _req, _res, _next) => refused.resolve(error)) satisfies ErrorRequestHandler);
    const { socket } = await serve(app);
    const client = await socket();
    client.write(POST);
    await begun.promise;
    client.destroy();
    const cause: unknown = expect.objectContaining({ code: 'AMBIT_HTTP_CLIENT_DISCONNECTED' });
    expect(await refused.promise).toMatchObject({ code: 'AMBIT_TX_ABORTED', cause });
    await expectAllEnded({ container, pool });
  });

  it('while it waits for a connection gets none', async () => {
    const { app, pool, container } = application({ pool: { max: 1 } });
    const held = await pool.getConnection();
    const refused = signal<unknown>();
    app.post('/', withTransaction());
    app.use(((error: unknown, _req, res, _next) => {
      refused.resolve(error);
      res.end();
    }) satisfies ErrorRequestHandler);
    const { socket, server } = await serve(app);
    const arrived = signal();
    server.once('request', () => arrived.resolve());
    const client = await socket();
    client.write(POST);
    await arrived.promise;
    client.destroy();
    expect(await refused.promise).toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    held.release();
    await expectAllEnded({ container, pool });
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
