import { signal } from '@ambit/test-kit';
import { once } from 'node:events';
import type { ErrorRequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { fails } from './support/faults.js';
import { application, expectAllEnded, serve, store } from './support/app.js';

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
