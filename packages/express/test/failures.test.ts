import express, { type ErrorRequestHandler, type RequestHandler, type RequestParamHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { tmpdir } from 'node:os';
import { signal } from '@ambit/test-kit';
import { setTimeout as after } from 'node:timers/promises';
import { containerMiddleware, withDeps, withTransaction } from '../src/index.js';
import { application, expectAllEnded, respondToError, serve, store, fails } from './support/app.js';
import { older, versions } from './support/versions.js';

const boom = (): never => {
  throw new Error('boom');
};

/** Each has written, and fails. */
const failing: Readonly<Record<string, RequestHandler>> = {
  'throws at once': (req) => {
    void store(req, 'order').catch(() => undefined);
    boom();
  },
  'calls next(error)': async (req, _res, next) => {
    await store(req, 'order');
    next(new Error('boom'));
  },
  'throws in withDeps()': withDeps({}, boom),
  'rejects in withDeps()': withDeps({}, (req) => store(req, 'order').then(boom)),
};

/** Express 4 does not look at what a handler returns. */
const failingOnExpress5: Readonly<Record<string, RequestHandler>> = {
  rejects: (req) => store(req, 'order').then(boom),
  'fails in a router in a router': express
    .Router()
    .use(express.Router().post('/', (req) => store(req, 'order').then(boom))),
  'answers with what cannot be serialised': (req, res) => store(req, 'order').then(() => void res.json({ size: 1n })),
  'ends with what is no body': (req, res) => store(req, 'order').then(() => void res.end({ size: 1 })),
  'sets a status that cannot be': (req, res) =>
    store(req, 'order').then(() => {
      res.statusCode = 1000;
      res.end();
    }),
  'writes its head, then rejects': (req, res) =>
    store(req, 'order')
      .then(() => void res.writeHead(201, { 'x-more': '1' }))
      .then(boom),
};

/** The response to a request whose handler is in a transaction, of which nothing is stored and nothing left. */
async function rolledBack(
  { app, container, pool }: ReturnType<typeof application>,
  handler: RequestHandler,
  ...errorHandlers: ErrorRequestHandler[]
): Promise<globalThis.Response> {
  app.post('/', withTransaction(), handler);
  for (const errorHandler of errorHandlers) app.use(errorHandler);
  const { post, close } = await serve(app);
  const response = await post('/');
  await close();
  expect(pool.stored).toEqual([]);
  await expectAllEnded({ container, pool });
  return response;
}

describe('a handler that fails is rolled back, no matter who responds', () => {
  it.each(Object.entries({ ...failing, ...failingOnExpress5 }))('when it %s', async (_name, handler) => {
    const response = await rolledBack(application(), handler, respondToError);
    expect(response.status).toBe(500);
    expect(response.headers.get('x-more')).toBeNull();
  });

  it('and its connection refuses it everything from then on', async () => {
    const { app, pool, container } = application();
    app.post('/', withTransaction(), failing['calls next(error)']!);
    app.use((async (_error, req, res, _next) => {
      const refusal = await store(req, 'too late').catch((error: unknown) => error);
      res.status(500).json(refusal);
    }) satisfies express.ErrorRequestHandler);
    const response = await (await serve(app)).post('/');
    expect(await response.json()).toMatchObject({ code: expect.stringMatching('AMBIT_(DISPOSED|TX_FINISHED)') });
    await expectAllEnded({ container, pool });
  });

  it('but not when it only left the route', async () => {
    const { app, pool } = application();
    app.post('/', withTransaction(), async (req, _res, next) => {
      await store(req, 'order');
      next('route');
    });
    app.post('/', (_req, res) => void res.json('done'));
    expect((await (await serve(app)).post('/')).status).toBe(200);
    expect(pool.stored).toEqual(['order']);
  });
});

/** Each has written, and fails in Express's own hands, which pass the error to the router alone. */
const failingInExpress: readonly [what: string, status: number, handler: RequestHandler][] = [
  ['calls res.render()', 500, (req, res) => store(req, 'order').then(() => res.render('missing.html'))],
  ['calls res.sendFile()', 404, (req, res) => store(req, 'order').then(() => res.sendFile('/no/such.file'))],
  ['calls res.sendFile() of a directory', 404, (req, res) => store(req, 'order').then(() => res.sendFile(tmpdir()))],
  ['calls res.download()', 404, (req, res) => store(req, 'order').then(() => res.download('/no/such.file'))],
  ['calls res.format()', 406, (req, res) => store(req, 'order').then(() => void res.format({}))],
];

/** The head counts as sent, so Express closes the connection, as it does without a transaction. */
const behindHead: RequestHandler = async (req, res) => {
  await store(req, 'order');
  res.writeHead(201, { 'x-more': '1' });
  res.render('missing.html');
};

const failingAnywhere = Object.entries(failing).map(([what, handler]) => [what, 500, handler] as const);

const passesOn: ErrorRequestHandler = (error, _req, _res, next) => next(error);

const fresh = (create: typeof express = express) => {
  const { container, pool } = application();
  const app = create().set('env', 'test').set('view engine', 'html').engine('html', boom);
  return { app: app.use(containerMiddleware(container)), container, pool };
};

describe('a failure that no error handler of the application hears of is rolled back', () => {
  it.each([...failingAnywhere, ...failingInExpress])('of a handler that %s', async (_what, status, handler) => {
    expect((await rolledBack(fresh(), handler)).status).toBe(status);
  });

  it('of res.render() behind writeHead()', async () => {
    const made = fresh();
    await expect(rolledBack(made, behindHead)).rejects.toThrow('fetch failed');
    expect(made.pool.stored).toEqual([]);
    await expectAllEnded(made);
  });

  it('of res.render() behind writeHead(), and is responded to where an error handler learns of it', async () => {
    const response = await rolledBack(fresh(), behindHead, passesOn);
    expect([response.status, response.headers.get('x-more')]).toEqual([500, null]);
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
  it.each([...failingAnywhere, ...failingInExpress])(
    'a handler that %s is rolled back',
    async (_what, status, handler) => {
      expect((await rolledBack(fresh(create), handler, passesOn)).status).toBe(status);
    },
  );
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

/** Serves one handler, whose error handler responds when the test says so. */
async function responseOf(
  create: (typeof versions)[number][1],
  pool: object,
  handler: (happened: ReturnType<typeof happenings>) => RequestHandler,
  options: { respond?: ErrorRequestHandler } = {},
) {
  const { app: outer, pool: database, container } = application({ pool });
  const happened = happenings();
  const reported: unknown[] = [];
  const app = create();
  app.post('/', withTransaction({ onSecondResponse: (error) => void reported.push(error) }), handler(happened));
  const seen: unknown[] = [];
  const note: ErrorRequestHandler = (error, _req, _res, next) => {
    seen.push(error.code ?? error.message);
    next(error);
  };
  const respondLate: ErrorRequestHandler = async (_error, _req, res, _next) => {
    happened.handled.resolve();
    await happened.responded.promise;
    res.status(500).json({ error: 'from the error handler' });
  };
  app.use(note, options.respond ?? respondLate);
  outer.use(app);
  const { post, close } = await serve(outer);
  const response = await post('/');
  const text = await response.text();
  await close();
  await expectAllEnded({ container, pool: database });
  return {
    status: response.status,
    text,
    location: response.headers.get('location'),
    seen,
    reported,
    stored: database.stored,
  };
}

const happenings = () => ({ handled: signal(), responded: signal() });

const TRUE_RESPONSE = { status: 500, text: '{"error":"from the error handler"}', location: null, stored: [] };
/** It names what has failed before it. */
const DROPPED = expect.objectContaining({
  code: 'AMBIT_HTTP_RESPONSE_DROPPED',
  cause: expect.any(Error) as Error,
});

describe.each(versions)('while the error handler takes its time, on %s,', (_version, create) => {
  it('a success of another branch of the handler that failed does not leave', async () => {
    const result = await responseOf(create, {}, ({ handled, responded }) => async (req, res, next) => {
      const place = async (): Promise<void> => {
        await store(req, 'order');
        await handled.promise;
        res.status(201).location('/orders/1').json('placed');
        responded.resolve();
      };
      const audit = (): Promise<never> => Promise.reject(new Error('audit is down'));
      try {
        await Promise.all([place(), audit()]);
      } catch (error) {
        next(error);
      }
    });
    expect(result).toMatchObject({ ...TRUE_RESPONSE, seen: ['audit is down'], reported: [DROPPED] });
    expect(result.reported).toMatchObject([{ cause: { message: 'audit is down' } }]);
  });

  it('a second success of the handler does not leave when COMMIT was refused', async () => {
    const result = await responseOf(create, fails('commit'), ({ handled, responded }) => async (req, res) => {
      await store(req, 'order');
      res.status(201).json('first');
      await handled.promise;
      res.status(201).json('second');
      responded.resolve();
    });
    expect(result).toMatchObject({ ...TRUE_RESPONSE, seen: ['AMBIT_TX_COMMIT_FAILED'], reported: [DROPPED] });
  });

  it.each([
    ['text', (res: Parameters<RequestHandler>[1]) => res.write('b') && res.end('c')],
    ['JSON', (res: Parameters<RequestHandler>[1]) => res.json({ id: 1 })],
  ])('the rest of a stream (%s) does not leave when COMMIT was refused', async (_name, goOn) => {
    const result = await responseOf(create, fails('commit'), ({ handled, responded }) => async (req, res) => {
      await store(req, 'order');
      res.status(201).write('a');
      await handled.promise;
      goOn(res);
      responded.resolve();
    });
    expect(result).toMatchObject({ ...TRUE_RESPONSE, seen: ['AMBIT_TX_COMMIT_FAILED'] });
  });

  it('and responds with a success itself, the client gets a plain error', async () => {
    const respond: ErrorRequestHandler = async (_error, _req, res, _next) => {
      await after(1);
      res.json('fine');
    };
    const fail: RequestHandler = async (req, _res, next) => {
      await store(req, 'order');
      next(new Error('secret'));
    };
    const result = await responseOf(create, {}, () => fail, { respond });
    expect(result).toMatchObject({
      status: 500,
      text: '{"error":"Internal Server Error"}',
      stored: [],
      reported: [DROPPED],
    });
  });
});

describe.each(versions)('a handler on %s that goes on while COMMIT is in progress', (_version, create) => {
  const goesOn = (error?: unknown): RequestHandler => {
    return async (req, res, next) => {
      await store(req, 'order');
      res.status(201).json('done');
      next(error);
    };
  };
  const respond: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).json({ error: error.code });

  it.each([
    ['fails', new Error('too late')],
    ['calls next()', undefined],
  ])('and %s: the error handler gets the error of COMMIT', async (_name, error) => {
    const result = await responseOf(create, fails('commit'), () => goesOn(error), { respond });
    expect(result).toMatchObject({
      status: 500,
      text: '{"error":"AMBIT_TX_COMMIT_FAILED"}',
      seen: ['AMBIT_TX_COMMIT_FAILED'],
      reported: error ? [error] : [],
    });
  });

  it('and fails undoes nothing', async () => {
    const result = await responseOf(create, {}, () => goesOn(new Error('too late')), { respond });
    expect(result).toMatchObject({
      status: 201,
      text: '"done"',
      seen: ['too late'],
      reported: [{ code: 'AMBIT_HTTP_RESPONSE_DROPPED' }],
    });
    expect(result.stored).toEqual(['order']);
  });
});

const paramResponds: RequestParamHandler = (_req, res) => void res.status(201).json('found');
const paramFails: RequestParamHandler = (_req, _res, next) => next(new Error('boom'));

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
    expect(await post('of the same router', paramResponds)).toEqual({ status: 201, stored: ['order'] });
  });

  it('is refused where it responds in a router behind it', async () => {
    expect(await post('of a router behind it', paramResponds)).toEqual({ status: 500, stored: [] });
  });

  it.each(['of the same router', 'of a router behind it'] as const)(
    '%s is rolled back where it fails',
    async (where) => {
      expect(await post(where, paramFails)).toEqual({ status: 500, stored: [] });
    },
  );
});
