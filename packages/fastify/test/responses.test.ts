import type { Container } from '@ambit/container';
import type { FakeFault, FakePoolOptions, FaultPoint } from '@ambit/transaction/testing';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { signal } from '@ambit/test-kit';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { containerPlugin, requireTransactionScope, transactionPlugin } from '../src/index.js';
import { application, failing, leftovers, order, store } from './support/app.js';

const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const slowQuery = (point: FaultPoint): FakeFault => ({ ms: point === 'query' ? 20 : 0, kind: 'none' });

describe('an error that a handler sends, and does not return, is responded to', () => {
  const ends: Record<string, ((request: FastifyRequest) => unknown) | undefined> = {
    nothing: undefined,
    'what ends at once': (request) => (request.container as Container).defer(() => undefined),
    'what takes a moment': (request) => (request.container as Container).defer(() => Promise.resolve()),
    'what takes a while': (request) => (request.container as Container).defer(later),
    'what fails': (request) => (request.container as Container).defer(() => Promise.reject(new Error('cannot end'))),
    'an open transaction': (request) => request.startTransaction(),
  };

  async function responseWhile(ending: string, rest: (reply: FastifyReply) => unknown, handler = respondToError) {
    const made = await application({ plugin: { onDisposeError: () => undefined } });
    made.app.setErrorHandler(handler);
    made.app.get('/', async (request, reply) => {
      await ends[ending]?.(request);
      void reply.code(404).send(new Error('not found'));
      return rest(reply);
    });
    const response = await made.app.inject('/');
    expect(await leftovers(made)).toEqual([]);
    return `${response.statusCode} ${response.body}`;
  }
  const respondToError = (error: unknown, _request: FastifyRequest, reply: FastifyReply): unknown =>
    reply.send((error as Error).message);
  const respondLate: typeof respondToError = async (...args) => {
    await later();
    return respondToError(...args);
  };

  test.each(Object.keys(ends))('after %s', async (ending) => {
    expect(await responseWhile(ending, () => undefined)).toBe('404 not found');
  });

  test.each(Object.keys(ends))('after %s, also by a handler that takes its time, if it is returned', async (ending) => {
    expect(await responseWhile(ending, (reply) => reply, respondLate)).toBe('404 not found');
  });

  describe.each(['what takes a while', 'an open transaction'])('and before %s is over', (ending) => {
    test.each([
      ['returns', () => 'second'],
      ['throws', () => Promise.reject(new Error('second'))],
    ])('what it %s is dropped', async (_how, rest) => {
      expect(await responseWhile(ending, rest)).toBe('404 not found');
    });
  });

  test('at once, where there is known to be nothing to wait for', async () => {
    const { app } = await application();
    const sent: boolean[] = [];
    app.get('/', (_request, reply) => {
      void reply.send(new Error('no'));
      sent.push(reply.raw.writableEnded);
    });

    for (let i = 0; i < 3; i++) await app.inject('/');

    // The first one teaches that the promise of a scope without anything to end has settled.
    expect(sent.slice(1)).toEqual([true, true]);
  });

  test('with a `send` of its own where somebody gave it one', async () => {
    const { app } = await application();
    const payloads: unknown[] = [];
    app.addHook('onRequest', (_request, reply, done) => {
      const send = reply.send.bind(reply);
      reply.send = (payload) => {
        payloads.push(payload);
        return send(payload);
      };
      done();
    });
    app.setErrorHandler((_error, _request, reply) => reply.send('handled'));
    app.get('/', async (request) => {
      await request.startTransaction();
      throw new Error('no');
    });

    expect((await app.inject('/')).body).toBe('handled');
    expect(payloads).toMatchObject([{ message: 'no' }, 'handled']);
  });
});

test('the response to a handler that takes too long says so, though its statement fails while it is rolled back', async () => {
  const { container, pool } = await application({ pool: { faultAt: slowQuery } });
  const app = fastify({ handlerTimeout: 5 });
  await app.register(containerPlugin, { container });
  await app.register(transactionPlugin, { cancelAfterMs: 1 });
  app.get('/', async (request) => {
    await request.startTransaction();
    await store(request, 'INSERT order');
  });

  const response = await app.inject('/');

  expect(response.json()).toMatchObject({ statusCode: 503, code: 'FST_ERR_HANDLER_TIMEOUT' });
  expect(await leftovers({ container, pool })).toEqual([]);
  await app.close();
});

const fail = (): never => {
  throw new Error('failed');
};

/** How a handler fails after it has written in its transaction, and on what database. */
const FAILURES = [
  ['throws', fail, {}],
  ['rolls back and throws', async (request) => (await request.rollbackTransaction(), fail()), {}],
  ['sends an error', (_request, reply) => void reply.send(new Error('failed')), {}],
  ['sees COMMIT refused', (request) => request.commitTransaction(), { faultAt: failing('commit', 'refused') }],
  ['leaves its transaction open', (_request, reply) => void reply.send({}), {}],
] as const satisfies [string, (...args: Parameters<Handler>) => unknown, object][];

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

describe('a success that is sent while the error handler works', () => {
  describe.each(['error', 'response'] as const)('with disposeOn %j', (disposeOn) => {
    test.each(FAILURES)('is dropped after a handler that %s', async (_how, act, pool) => {
      const handling = signal();
      const dropped = signal();
      const errorHandler = async (_error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
        handling.resolve();
        await dropped.promise;
        return reply.code(503).send({ error: 'Try again later' });
      };
      const work: Handler = async (request, reply) => {
        void handling.promise.then(() => {
          void reply.code(201).header('location', '/orders/1').send({ id: '1' });
          dropped.resolve();
        });
        await act(request, reply);
        return reply;
      };

      const { response, stored } = await order(work, { pool, plugin: { disposeOn }, errorHandler });

      expect([response.statusCode, response.json()]).toEqual([503, { error: 'Try again later' }]);
      expect(response.headers.location).toBeUndefined();
      expect(stored).toEqual([]);
    });
  });

  test('does not pass its status on to an error handler that sets none', async () => {
    const conflict = (_request: FastifyRequest, reply: FastifyReply): never => {
      reply.code(201);
      throw Object.assign(new Error('conflict'), { statusCode: 409 });
    };
    const { response } = await order(conflict, { errorHandler: (_error, _request, reply) => reply.send({}) });

    expect(response.statusCode).toBe(409);
  });

  test('an error handler decides on its own status, as of a redirection', async () => {
    const { response } = await order(fail, {
      errorHandler: (_error, _request, reply) => reply.redirect('/login', 303),
    });

    expect(response.statusCode).toBe(303);
  });
});

test.each([
  ['its route has, with an error handler', true, true],
  ['its route has', true, false],
  ['it commits itself, with an error handler', false, true],
  ['it commits itself', false, false],
])(
  'the trailers of a response are taken back where COMMIT of a transaction that %s is refused',
  async (_whose, ofRoute, handled) => {
    const made = await application({ pool: { faultAt: failing('commit', 'refused') } });
    if (handled) made.app.setErrorHandler((_error, _request, reply) => reply.code(500).send({}));
    made.app.post('/', { config: { transaction: ofRoute } }, async (request, reply) => {
      if (!ofRoute) await request.startTransaction();
      await store(request, 'INSERT order');
      void reply.code(201).trailer('x-sum', (_reply, _payload, done) => done(null, 'abc'));
      if (!ofRoute) await request.commitTransaction();
      return reply.send({});
    });

    const { statusCode, headers } = await made.app.inject({ method: 'POST', url: '/' });

    const framing = ['content-length', 'transfer-encoding', 'trailer'].filter((name) => name in headers);
    expect([statusCode, framing]).toEqual([500, ['content-length']]);
  },
);

describe('startTransaction() that nobody awaits', () => {
  test('does not crash the process when it fails, and the response is no success', async () => {
    const made = await application({ pool: { faultAt: failing('acquire', 'refused') } });
    made.app.post('/', async (request) => {
      void request.startTransaction();
      await pause(5);
      return {};
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).statusCode).toBeGreaterThanOrEqual(500);
    expect(await leftovers(made)).toEqual([]);
  });
});

const missing = () => createReadStream('/no/such/file');

describe('a response stream that fails while its transaction is undone', () => {
  test.each([
    ['was left open', 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN', 500, () => undefined],
    [
      'has timed out',
      'AMBIT_TX_TIMEOUT',
      503,
      (request: FastifyRequest) =>
        new Promise<void>((resolve) => {
          const { transactionScope } = request;
          transactionScope?.defer?.(() => resolve());
        }),
    ],
  ] as const)('because it %s is dropped, and the response is the error', async (_why, code, status, wait) => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      await request.startTransaction({ timeoutMs: status === 503 ? 5 : 30_000 });
      await wait(request);
      return reply.send(missing());
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([status, { code }]);
    expect(await leftovers(made)).toEqual([]);
    await turn();
  });

  test('or committed is responded to with its error, and the commit stands', async () => {
    const handler: Handler = (request, reply) => {
      void request.commitTransaction();
      return reply.send(missing());
    };
    const { response, stored } = await order(handler, {
      pool: { faultAt: (point) => ({ ms: point === 'commit' ? 20 : 0, kind: 'none' }) },
    });

    expect([response.statusCode, response.json()]).toMatchObject([500, { code: 'ENOENT' }]);
    expect(stored).toEqual(['INSERT order']);
  });

  test('is dropped, too, where it is a second response', async () => {
    let second: Readable | undefined;
    const { response } = await order((_request, reply) => {
      void reply.send({ first: true });
      second = missing();
      void reply.send(second);
      return reply;
    });

    expect(response.json()).toMatchObject({ code: 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN' });
    expect(second?.destroyed).toBe(true);
    await turn();
  });

  test('is cancelled where it is a web stream or a Response', async () => {
    const made = await application();
    const cancelled: string[] = [];
    const stream = (name: string): ReadableStream => new ReadableStream({ cancel: () => void cancelled.push(name) });
    const respond = (payload: () => unknown) => async (request: FastifyRequest, reply: FastifyReply) => {
      await request.startTransaction();
      return reply.send(payload());
    };
    made.app.post(
      '/stream',
      respond(() => stream('stream')),
    );
    made.app.post(
      '/response',
      respond(() => new Response(stream('response'))),
    );

    for (const url of ['/stream', '/response']) {
      expect((await made.app.inject({ method: 'POST', url })).statusCode).toBe(500);
    }

    expect(cancelled).toEqual(['stream', 'response']);
  });
});

const never = new Promise<void>(() => undefined);

describe('a handler that does not respond until its transaction has timed out', () => {
  test.each(['returns', 'sends', 'throws'])('changes nothing when it %s after all', async (how) => {
    const made = await application();
    const late = signal();
    const finished = signal();
    made.app.post('/', async (request, reply) => {
      try {
        await request.startTransaction({ timeoutMs: 500 });
        await late.promise;
        if (how === 'throws') throw new Error('too late');
        if (how === 'sends') void reply.code(201).send({ id: '1' });
        return { id: '1' };
      } finally {
        finished.resolve();
      }
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });
    late.resolve();
    await finished.promise;
    await turn();

    expect(response.statusCode).toBe(503);
    expect(await leftovers(made)).toEqual([]);
  });

  test('cannot pass for a success while the error handler works', async () => {
    const made = await application();
    const handling = signal();
    made.app.setErrorHandler(async (_error, _request, reply) => {
      handling.resolve();
      await never;
      return reply.send({});
    });
    made.app.post('/', async (request, reply) => {
      await request.startTransaction({ timeoutMs: 500 });
      await handling.promise;
      return reply.code(201).send({ id: '1' });
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([503, { code: 'AMBIT_TX_TIMEOUT' }]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('and then responds with an error of its own: the client receives the reason', async () => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      const scope = await request.startTransaction({ timeoutMs: 500 });
      await expect
        .poll(() => request.transactionScope === undefined || made.pool.out === 0, { interval: 1 })
        .toBe(true);
      try {
        await scope.resolve<{ query(sql: string): Promise<unknown> }>('IConnection').query('INSERT order');
      } catch {
        return reply.code(409).send({ error: 'too slow' });
      }
      return {};
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([503, { code: 'AMBIT_TX_TIMEOUT' }]);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });
});

test('an injected request whose caller destroys the response stream loses its scope', async () => {
  const made = await application();
  made.app.get('/', (_request, reply) => {
    const words = new Readable({ read: () => undefined });
    words.push('first');
    return reply.send(words);
  });

  const response = await made.app.inject({ url: '/', payloadAsStream: true });
  response.stream().destroy();

  expect(await leftovers(made)).toEqual([]);
});

describe('requireTransactionScope()', () => {
  test('throws a coded error that says what to do where there is none', async () => {
    const made = await application();
    made.app.post('/', async (request) => requireTransactionScope(request));

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({
      code: 'AMBIT_HTTP_NO_TRANSACTION',
      message: expect.stringMatching(/^No transaction in progress: .*startTransaction\(\)/) as string,
    });
  });
});

describe('a handler that takes the response into its own hands', () => {
  async function respondHijacked(
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
    options: FakePoolOptions,
  ) {
    const lines: string[] = [];
    const { container, pool } = await application({ pool: options });
    const app = fastify({ logger: { level: 'error', stream: { write: (line) => void lines.push(line) } } });
    await app.register(containerPlugin, { container });
    await app.register(transactionPlugin);
    app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await handler(request, reply);
      reply.hijack().raw.end('mine');
    });
    const { body } = await app.inject({ method: 'POST', url: '/' });
    expect(body).toBe('mine');
    expect(await leftovers({ container, pool })).toEqual([]);
    await app.close();
    return { codes: lines.map((line) => (JSON.parse(line) as { err: { code: string } }).err.code), pool };
  }

  const committing = async (request: FastifyRequest): Promise<void> => void request.commitTransaction();
  const awaitingLoss = async (request: FastifyRequest): Promise<void> => {
    void request.commitTransaction();
    await expect.poll(() => request.transactionScope, { interval: 1 }).toBeUndefined();
  };
  const refused = { faultAt: failing('commit', 'refused') };
  const lost = { faultAt: failing('commit', 'lost') };

  test.each<[string, (request: FastifyRequest) => Promise<void>, FakePoolOptions, string[], string[]]>([
    ['with its transaction open', async () => undefined, {}, ['AMBIT_HTTP_TRANSACTION_LEFT_OPEN'], []],
    ['after a commit', (request) => request.commitTransaction(), {}, [], ['INSERT order']],
    ['after a commit in progress', committing, {}, [], ['INSERT order']],
    ['after a commit in progress that is refused', committing, refused, ['AMBIT_TX_COMMIT_FAILED'], []],
    ['after a commit in progress that is lost', committing, lost, ['AMBIT_TX_OUTCOME_UNKNOWN'], []],
    ['after a commit that had failed by then', awaitingLoss, refused, ['AMBIT_TX_COMMIT_FAILED'], []],
    ['after a rollback in progress', async (request) => void request.rollbackTransaction(), {}, [], []],
  ])('%s has in the log of the request what was not stored', async (_when, handler, options, logged, stored) => {
    const { codes, pool } = await respondHijacked(handler, options);
    expect([codes, pool.stored]).toEqual([logged, stored]);
  });
});
