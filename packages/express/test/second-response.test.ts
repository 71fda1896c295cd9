import { signal } from '@ambit/test-kit';
import type { Response } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';

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

  /** What changes the head first throws in the handler, as it does without a transaction. */
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

  it('by the error handler, for a handler that failed after it responded, undoes nothing', async () => {
    const reported = signal<unknown>();
    const { app, pool } = application();
    app.post('/', withTransaction({ onSecondResponse: reported.resolve }), async (req, res) => {
      await store(req, 'order');
      res.status(201).json('first');
      throw new Error('too late');
    });
    app.use(respondToError);
    const response = await (await serve(app)).post('/');
    expect([response.status, await response.json()]).toEqual([201, 'first']);
    await reported.promise;
    expect(pool.stored).toEqual(['order']);
  });
});
