import type { RequestParamHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';
import { versions } from './support/versions.js';

const responds: RequestParamHandler = (_req, res) => void res.status(201).json('found');
const fails: RequestParamHandler = (_req, _res, next) => next(new Error('boom'));

describe.each(versions)('a callback of param() behind a handler that stores, on %s,', (_version, create) => {
  const mounts = {
    'of the same router': (param: RequestParamHandler) => {
      const app = create();
      app.param('id', param);
      app.post('/:name', withTransaction(), async (req, _res, next) => {
        await store(req, 'order');
        next();
      });
      return app.post('/:id', (_req, res) => void res.end());
    },
    'of a router behind it': (param: RequestParamHandler) => {
      const inner = create.Router().post('/:id', (_req, res) => void res.end());
      inner.param('id', param);
      const storing = create().post('/:name', withTransaction(), async (req, _res, next) => {
        await store(req, 'order');
        next();
      });
      return storing.use(inner);
    },
  };

  async function post(where: keyof typeof mounts, param: RequestParamHandler) {
    const { pool, container } = application();
    const app = create().use(containerMiddleware(container), mounts[where](param));
    const { post: send, close } = await serve(app.use(respondToError));
    const response = await send('/here');
    await response.text();
    await close();
    await expectAllEnded({ container, pool });
    return { status: response.status, stored: pool.stored };
  }

  it('commits where it responds in the same router', async () => {
    expect(await post('of the same router', responds)).toEqual({ status: 201, stored: ['order'] });
  });

  it('is refused where it responds in a router behind it', async () => {
    expect(await post('of a router behind it', responds)).toEqual({ status: 500, stored: [] });
  });

  it.each(['of the same router', 'of a router behind it'] as const)(
    '%s is rolled back where it fails',
    async (where) => {
      expect(await post(where, fails)).toEqual({ status: 500, stored: [] });
    },
  );
});
