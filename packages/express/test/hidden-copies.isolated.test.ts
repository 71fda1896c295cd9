import express, { type Express, type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';
import { versions } from './support/versions.js';

// Once a copy is mounted openly, it is hidden nowhere: hence a file, and so a process, of its own.

const fails: RequestHandler = async (req, _res, next) => {
  await store(req, 'order');
  next(new Error('boom'));
};
const succeeds: RequestHandler = async (req, res) => {
  await store(req, 'order');
  res.status(201).json('done');
};

function fresh() {
  const { container, pool } = application();
  const app = express().set('env', 'test').use(containerMiddleware(container));
  return { app, container, pool };
}

const others = versions.filter(([, create]) => create !== express);

describe.each(others)('where a failure could not be seen, because another copy (%s)', (_version, create) => {
  const ways: readonly [how: string, mount: (app: Express, handler: RequestHandler) => unknown][] = [
    [
      'is called by a function',
      (app, handler) => {
        const hidden = create.Router().post('/', handler).use(respondToError);
        app.use(withTransaction(), (req, res, next) => hidden(req, res, next));
      },
    ],
    [
      'opens the transaction, and is called by a function',
      (app, handler) => {
        const hidden = create.Router().post('/', withTransaction(), handler).use(respondToError);
        app.use((req, res, next) => hidden(req, res, next));
      },
    ],
    [
      'is an application mounted behind it',
      (app, handler) => app.use(withTransaction(), create().post('/', handler).use(respondToError)),
    ],
  ];

  it.each(ways)('%s, a success is refused', async (_how, mount) => {
    const { app, pool, container } = fresh();
    mount(app, succeeds);
    app.use(respondToError);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      error: expect.stringContaining('[npx ambit explain AMBIT_HTTP_FAILURES_UNSEEN]'),
    });
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });

  it.each(ways)('%s, a failure is rolled back', async (_how, mount) => {
    const { app, pool, container } = fresh();
    mount(app, fails);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect([response.status, await response.json()]).toEqual([500, { error: 'boom' }]);
    await close();
    expect(pool.stored).toEqual([]);
    await expectAllEnded({ container, pool });
  });
});
