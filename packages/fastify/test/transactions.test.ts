import { signal } from '@ambit/test-kit';
import { describe, expect, test } from 'vitest';
import { Readable } from 'node:stream';
import type { IConnection } from '@ambit/transaction';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import { setImmediate as turn } from 'node:timers/promises';
import type { FakeFault, FaultPoint } from '@ambit/transaction/testing';
import { containerPlugin, transactionPlugin } from '../src/index.js';
import { application, failing, get, leftovers, type Made, order, serve, server, store } from './support/app.js';

describe('startTransaction()', () => {
  test.each([
    ['startTransaction()', {}],
    ['the transaction of its route', { config: { transaction: true } }],
  ])('is refused for a response that has begun, and its connection is closed: %s', async (_how, route) => {
    const made = await application();
    const errors: unknown[] = [];
    made.app.setErrorHandler((error) => void errors.push(error));
    const flush = (reply: { raw: { flushHeaders(): void } }): void => reply.raw.flushHeaders();
    made.app.post('/', { ...route, preHandler: async (_request, reply) => flush(reply) }, async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await request.commitTransaction();
      return 'stored';
    });
    const { fetch } = await serve(made.app);

    const response = await fetch('/', { method: 'POST' });

    await expect(response.text()).rejects.toThrow('terminated');
    expect(errors).toMatchObject([{ code: 'AMBIT_HTTP_HEAD_SENT' }]);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('after the request has finished is refused', async () => {
    const made = await application();
    const refused = signal<unknown>();
    made.app.post('/', async (request) => {
      setTimeout(() => void request.startTransaction().catch(refused.resolve), 20);
      return 'ok';
    });

    await made.app.inject({ method: 'POST', url: '/' });

    expect(await refused.promise).toMatchObject({ code: 'AMBIT_DISPOSED' });
    expect(await leftovers(made)).toEqual([]);
  });
});

/** A handler, and what the client and the database have of it. */
const HANDLERS: readonly [
  what: string,
  handle: (request: FastifyRequest) => unknown,
  status: number,
  body: object,
  stored: string[],
][] = [
  [
    'has its scope from startTransaction() until commitTransaction()',
    async (request) => {
      const before = request.transactionScope ?? null;
      const scope = await request.startTransaction();
      const same = scope === request.transactionScope;
      await store(request, 'INSERT order');
      await request.commitTransaction();
      return { before, same, after: request.transactionScope ?? null };
    },
    200,
    { before: null, same: true, after: null },
    ['INSERT order'],
  ],
  ['commits without one', (request) => request.commitTransaction(), 500, { message: 'No transaction in progress' }, []],
  ['rolls back without one', async (request) => ({ rolledBack: await request.rollbackTransaction() }), 200, {}, []],
  [
    'rolls back several times',
    async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await Promise.all([request.rollbackTransaction(), request.rollbackTransaction()]);
      await request.rollbackTransaction();
      return { scope: request.transactionScope ?? null };
    },
    200,
    { scope: null },
    [],
  ],
  [
    'has two, one after the other',
    async (request) => {
      for (const end of ['commitTransaction', 'rollbackTransaction'] as const) {
        await request.startTransaction();
        await store(request, end);
        await request[end]();
      }
      return {};
    },
    200,
    {},
    ['commitTransaction'],
  ],
  [
    'begins a second one beside the first',
    async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await request.startTransaction();
      return {};
    },
    500,
    { code: 'AMBIT_TX_ALREADY_OPEN' },
    [],
  ],
  [
    'begins two at once, which cost one connection',
    async (request) => {
      const both = await Promise.allSettled([request.startTransaction(), request.startTransaction()]);
      await request.commitTransaction();
      return both.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : one.status));
    },
    200,
    ['fulfilled', 'AMBIT_TX_ALREADY_OPEN'],
    [],
  ],
];

test.each(HANDLERS)('a handler that %s', async (_what, handle, status, body, stored) => {
  const made = await application({ pool: { max: 1 } });
  made.app.post('/', async (request) => handle(request));

  const response = await made.app.inject({ method: 'POST', url: '/' });

  expect([response.statusCode, response.json()]).toMatchObject([status, body]);
  expect(made.pool.stored).toEqual(stored);
  expect(await leftovers(made)).toEqual([]);
});

test.each(['refused', 'lost'] as const)(
  'commitTransaction() that is %s rejects, and clears transactionScope',
  async (kind) => {
    let scope: unknown = 'not cleared';
    const { response } = await order(
      (request) => request.commitTransaction().finally(() => (scope = request.transactionScope)),
      { pool: { faultAt: failing('commit', kind) } },
    );

    expect([response.statusCode, scope]).toEqual([kind === 'lost' ? 503 : 500, undefined]);
  },
);

describe('the transaction plugin', () => {
  test('goes by the name `transaction`, and gives defaults to every transaction of its context', async () => {
    const { container, pool } = await application();
    const app = server();
    await app.register(containerPlugin, { container });
    await app.register(transactionPlugin, { timeoutMs: 5 });
    app.post('/', async (request) => {
      await request.startTransaction();
      await new Promise((resolve) => setTimeout(resolve, 30));
      await request.commitTransaction();
    });

    expect(app.hasPlugin('transaction')).toBe(true);
    const members = ['transactionScope', 'startTransaction', 'commitTransaction', 'rollbackTransaction'];
    for (const member of members) expect(app.hasRequestDecorator(member)).toBe(true);
    expect((await app.inject({ method: 'POST', url: '/' })).json()).toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
    expect(await leftovers({ container, pool })).toEqual([]);
  });

  test('refuses to be registered without the container plugin', async () => {
    await expect(async () => server().register(transactionPlugin)).rejects.toThrow(/container/);
  });
});

describe('an open transaction is rolled back', () => {
  test.each(['error', 'response'] as const)('before the error handler runs (disposeOn: %s)', async (disposeOn) => {
    const made = await application({ plugin: { disposeOn } });
    made.app.setErrorHandler((error: Error, request) => ({
      error: error.message,
      out: made.pool.out,
      scope: request.transactionScope === undefined,
    }));
    made.app.post('/', async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      throw new Error('no stock');
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toEqual({ error: 'no stock', out: 0, scope: true });
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test.each([
    ['an object', () => ({ id: '1' })],
    ['a text', () => 'created'],
    ['nothing', () => null],
    ['a stream', () => Readable.from(['created'])],
  ])('when the handler responds with %s, which becomes a 500', async (_what, body) => {
    const payload = body();
    const { response, stored } = await order((_request, reply) =>
      reply.code(201).header('location', '/orders/1').header('content-language', 'en').send(payload),
    );

    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({ code: 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN' });
    expect(response.headers).not.toHaveProperty('location');
    expect(response.headers).not.toHaveProperty('content-language');
    expect(payload instanceof Readable ? payload.destroyed : true).toBe(true);
    expect(stored).toEqual([]);
  });

  test.each([
    ['its scope', (request: FastifyRequest) => request.transactionScope?.dispose()],
    ['the scope of the request', (request: FastifyRequest) => request.container.dispose()],
  ])('when the handler disposes %s, and responds as if all were well', async (_what, dispose) => {
    const { response, stored } = await order(async (request, reply) => {
      await dispose(request);
      return reply.code(201).send({ id: '1' });
    });

    expect([response.statusCode, response.json()]).toMatchObject([500, { code: 'AMBIT_TX_FINISHED' }]);
    expect(stored).toEqual([]);
  });

  test.each([
    ['startTransaction()', {}],
    ['the transaction of its route', { config: { transaction: true } }],
  ])('when the client goes away, and Fastify logs no error for it: %s', async (_how, route) => {
    const lines: string[] = [];
    const made = await application({
      server: fastify({ logger: { level: 'info', stream: { write: (line) => void lines.push(line) } } }),
    });
    const [arrived, left, refused] = [signal(), signal(), signal()];
    made.app.get('/', route, async (request) => {
      const scope = request.transactionScope ?? (await request.startTransaction());
      const connection = scope.resolve<IConnection>('IConnection');
      arrived.resolve();
      await left.promise;
      await connection.query('INSERT order').finally(() => setImmediate(refused.resolve));
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();
    expect(await leftovers(made)).toEqual([]);
    left.resolve();
    await refused.promise;

    expect(lines.filter((line) => line.includes('Error'))).toEqual([]);
  });

  test('when the signal of the caller aborts', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      const own = new AbortController();
      await request.startTransaction({ signal: own.signal });
      own.abort(new Error('enough'));
      await request.commitTransaction();
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(await leftovers(made)).toEqual([]);
  });
});

describe('rollbackTransaction()', () => {
  test.each([
    ['which nobody awaits', (request: FastifyRequest) => void request.rollbackTransaction()],
    [
      'or rollback() of the connection',
      (request: FastifyRequest) => request.transactionScope?.resolve<IConnection>('IConnection').rollback(),
    ],
  ])('%s, keeps the response of the handler', async (_how, rollback) => {
    const { response, stored } = await order(async (request, reply) => {
      await rollback(request);
      return reply.code(409).send('taken');
    });

    expect([response.statusCode, response.body]).toEqual([409, 'taken']);
    expect(stored).toEqual([]);
  });

  test('cancels a start that is in progress', async () => {
    const made = await application({ pool: { faultAt: () => ({ ms: 20, kind: 'none' }) } });
    made.app.post('/', async (request) => {
      const starting = request.startTransaction();
      const [, started] = await Promise.allSettled([request.rollbackTransaction(), starting]);
      return { started: started.status, scope: request.transactionScope === undefined };
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toEqual({ started: 'rejected', scope: true });
    expect(await leftovers(made)).toEqual([]);
  });

  test('that the database does not respond to never rejects', async () => {
    const errors: Error[] = [];
    const made = await application({ pool: { faultAt: failing('rollback', 'lost') } });
    made.app.post('/', async (request) => {
      await request.startTransaction({ onError: (error) => void errors.push(error) });
      await request.rollbackTransaction();
      return 'ok';
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).body).toBe('ok');
    expect(errors).toMatchObject([{ code: 'AMBIT_TX_ROLLBACK_FAILED' }]);
    expect(await leftovers(made)).toEqual([]);
  });
});

describe('a commit stands', () => {
  test('when the handler closed the transaction through the connection', async () => {
    const { response, stored } = await order(async (request) => {
      await request.transactionScope?.resolve<IConnection>('IConnection').commit();
      return 'ok';
    });

    expect([response.body, stored]).toEqual(['ok', ['INSERT order']]);
  });
});

const slow = (point: FaultPoint): FakeFault => ({ ms: point === 'commit' ? 20 : 0, kind: 'none' });

describe('commitTransaction() that nobody awaits', () => {
  test('holds the response back until the database has responded', async () => {
    const handler = (request: FastifyRequest): object => {
      void request.commitTransaction();
      return { stored: 'soon' };
    };
    const { response, stored } = await order(handler, { pool: { faultAt: slow } });

    expect([response.json(), stored]).toEqual([{ stored: 'soon' }, ['INSERT order']]);
  });

  test('holds back a response that the handler sends and does not return, which is sent once', async () => {
    const handler = (request: FastifyRequest, reply: FastifyReply): void => {
      void request.commitTransaction();
      void reply.code(201).send({ id: '1' });
    };
    const { response, stored } = await order(handler, { pool: { faultAt: slow } });

    expect([response.statusCode, response.json()]).toEqual([201, { id: '1' }]);
    expect(stored).toEqual(['INSERT order']);
  });

  test('stands when the response after it cannot be sent', async () => {
    const { response, stored } = await order((request, reply) => {
      void request.commitTransaction();
      return reply.header('x-name', '☕').send({ id: '1' });
    });

    expect([response.statusCode, response.json()]).toMatchObject([500, { code: 'ERR_INVALID_CHAR' }]);
    expect(stored).toEqual(['INSERT order']);
  });

  test.each([
    ['refused', 'AMBIT_TX_COMMIT_FAILED', 500, []],
    ['lost', 'AMBIT_TX_OUTCOME_UNKNOWN', 503, []],
    ['lost after', 'AMBIT_TX_OUTCOME_UNKNOWN', 503, ['INSERT order']],
  ] as const)('and that is %s gets a response that says what is known of it', async (kind, code, status, known) => {
    const handler = (request: FastifyRequest, reply: FastifyReply): object => {
      void request.commitTransaction();
      reply.code(201).header('location', '/orders/1');
      return { id: '1' };
    };
    const { response, stored } = await order(handler, { pool: { faultAt: failing('commit', kind) } });

    expect([response.statusCode, response.headers.location]).toEqual([status, undefined]);
    expect(response.json()).toMatchObject({ code });
    expect(stored).toEqual(known);
  });

  const refused = { pool: { faultAt: failing('commit', 'refused') } };
  const failed = async ({ pool }: Made) => await expect.poll(() => pool.out, { interval: 1 }).toBe(0);

  test.each([
    ['success', 201],
    ['an error', 409],
  ])('and that fails before the handler responds with %s turns the response into its error', async (_what, status) => {
    const { response } = await order(async (request, reply, made) => {
      void request.commitTransaction();
      await failed(made);
      return reply.code(status).header('location', '/orders/1').send({ id: '1' });
    }, refused);

    expect([response.statusCode, response.headers.location]).toEqual([500, undefined]);
    expect(response.json()).toMatchObject({ code: 'AMBIT_TX_COMMIT_FAILED' });
  });

  test("and that fails is the handler's to deal with if the handler awaits it later", async () => {
    const { response } = await order(async (request, reply, made) => {
      const committing = request.commitTransaction();
      await failed(made);
      const [{ status }] = await Promise.allSettled([committing]);
      return reply.code(202).send({ status });
    }, refused);

    expect([response.statusCode, response.json()]).toEqual([202, { status: 'rejected' }]);
  });

  test('and that fails does not replace the error that the handler throws', async () => {
    const { response } = await order(async (request, _reply, made) => {
      void request.commitTransaction();
      await failed(made);
      throw Object.assign(new Error('no stock'), { statusCode: 409 });
    }, refused);

    expect([response.statusCode, response.json()]).toMatchObject([409, { message: 'no stock' }]);
  });

  test('harms nobody when the client left before it was called', async () => {
    const made = await application();
    const arrived = signal();
    const left = signal();
    const called = signal();
    made.app.get('/', async (request) => {
      await request.startTransaction();
      arrived.resolve();
      await left.promise;
      void request.commitTransaction();
      called.resolve();
      return 'ok';
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();
    expect(await leftovers(made)).toEqual([]);
    left.resolve();
    await called.promise;
    await turn();

    expect(made.pool.stored).toEqual([]);
  });
});
