import { Readable } from 'node:stream';
import type { Container } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import type { FakeFault, FaultPoint } from '@ambit/transaction/testing';
import { describe, expect, test } from 'vitest';
import { containerPlugin, transactionPlugin } from '../src/index.js';
import { application, leftovers, get, serve, server, signal, store } from './support/app.js';

const failing =
  (where: FaultPoint, kind: FakeFault['kind']) =>
  (point: FaultPoint): FakeFault => ({ ms: 0, kind: point === where ? kind : 'none' });

describe('startTransaction()', () => {
  test('gives the scope tagged `transaction`, with the connection, and sets transactionScope', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      const before = request.transactionScope;
      const scope = (await request.startTransaction()) as Container;
      const facts = {
        before: before === undefined,
        same: scope === request.transactionScope,
        below: scope.parent === request.container,
        tags: scope.tags,
        connection: typeof scope.resolve<IConnection>('IConnection').query,
      };
      await request.rollbackTransaction();
      return facts;
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.json()).toEqual({
      before: true,
      same: true,
      below: true,
      tags: ['transaction'],
      connection: 'function',
    });
    expect(await leftovers(made)).toEqual([]);
  });

  test('twice in one request is an error, and the first is rolled back', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await request.startTransaction();
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toMatchObject({ code: 'AMBIT_HTTP_TRANSACTION_STARTED' });
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('may be called again when the first has ended', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      for (const what of ['first', 'second']) {
        await request.startTransaction();
        await store(request, what);
        await request.commitTransaction();
      }
      return 'ok';
    });

    await made.app.inject({ method: 'POST', url: '/' });

    expect(made.pool.stored).toEqual(['first', 'second']);
    expect(await leftovers(made)).toEqual([]);
  });

  test('after the request has ended is refused', async () => {
    const made = await application();
    const refused = signal<unknown>();
    made.app.post('/', async (request) => {
      setTimeout(() => void request.startTransaction().catch(refused.resolve), 20);
      return 'ok';
    });

    await made.app.inject({ method: 'POST', url: '/' });

    expect(await refused.promise).toMatchObject({ code: 'AMBIT_HTTP_REQUEST_ENDED' });
    expect(await leftovers(made)).toEqual([]);
  });

  test.each([
    ['acquire', 'refused', 'AMBIT_TX_ACQUIRE_FAILED', 503],
    ['begin', 'refused', 'AMBIT_TX_BEGIN_FAILED', 500],
    ['begin', 'lost', 'AMBIT_TX_BEGIN_FAILED', 500],
  ] as const)('leaves nothing behind when %s is %s', async (where, kind, code, status) => {
    const made = await application({ pool: { faultAt: failing(where, kind) } });
    made.app.post('/', async (request) => {
      await request.startTransaction();
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ code, message: expect.stringContaining('The transaction did not start') });
    // What the driver said is for the log.
    expect(answer.body).not.toMatch(/refused\.|the connection died|no connection could be made/);
    expect(await leftovers(made)).toEqual([]);
  });

  test('times out with 503 when every connection is on loan', async () => {
    const made = await application({ pool: { max: 1 } });
    const loan = await made.pool.getConnection();
    made.app.post('/', async (request) => {
      await request.startTransaction({ acquireTimeoutMs: 10 });
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });
    loan.release();

    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
    expect(await leftovers(made)).toEqual([]);
  });
});

describe('commitTransaction()', () => {
  test('commits, ends the scope and clears transactionScope', async () => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      const scope = (await request.startTransaction()) as Container;
      await store(request, 'INSERT order');
      await request.commitTransaction();
      return reply.code(201).send({ ended: scope.disposed, cleared: request.transactionScope === undefined });
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect([answer.statusCode, answer.json()]).toEqual([201, { ended: true, cleared: true }]);
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });

  test('without a transaction throws `No transaction in progress`', async () => {
    const { app } = await application();
    app.post('/', (request) => request.commitTransaction());

    const answer = await app.inject({ method: 'POST', url: '/' });

    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toMatchObject({ message: 'No transaction in progress' });
  });

  test.each([
    ['refused', 'AMBIT_TX_COMMIT_FAILED', 500],
    ['lost', 'AMBIT_TX_OUTCOME_UNKNOWN', 503],
  ] as const)('that is %s rejects, and the client never sees the 201', async (kind, code, status) => {
    const made = await application({ pool: { faultAt: failing('commit', kind) } });
    let cleared: unknown;
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await request.commitTransaction().finally(() => (cleared = request.transactionScope === undefined));
      return reply.code(201).send({ id: '1' });
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ code });
    expect(cleared).toBe(true);
    expect(await leftovers(made)).toEqual([]);
  });

  test('that nobody awaits holds the answer back until the database has answered', async () => {
    const slow = (point: FaultPoint): FakeFault => ({ ms: point === 'commit' ? 20 : 0, kind: 'none' });
    const made = await application({ pool: { faultAt: slow } });
    made.app.post('/', async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      void request.commitTransaction();
      return { stored: 'soon' };
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.json()).toEqual({ stored: 'soon' });
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });
});

describe('rollbackTransaction()', () => {
  test('rolls back, ends the scope and clears transactionScope', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      const scope = (await request.startTransaction()) as Container;
      await store(request, 'INSERT order');
      await request.rollbackTransaction();
      return { ended: scope.disposed, cleared: request.transactionScope === undefined };
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).json()).toEqual({ ended: true, cleared: true });
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('without a transaction, or a second time, has no effect', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      await request.rollbackTransaction();
      await request.startTransaction();
      await Promise.all([request.rollbackTransaction(), request.rollbackTransaction()]);
      await request.rollbackTransaction();
      return 'ok';
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).body).toBe('ok');
    expect(await leftovers(made)).toEqual([]);
  });

  test('calls off a start that is under way', async () => {
    const made = await application({ pool: { faultAt: () => ({ ms: 20, kind: 'none' }) } });
    made.app.post('/', async (request) => {
      const starting = request.startTransaction();
      const [, started] = await Promise.allSettled([request.rollbackTransaction(), starting]);
      return { started: started.status, scope: request.transactionScope === undefined };
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.json()).toEqual({ started: 'rejected', scope: true });
    expect(await leftovers(made)).toEqual([]);
  });

  test('that the database does not answer never rejects', async () => {
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

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.json()).toEqual({ error: 'no stock', out: 0, scope: true });
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test.each([
    ['an object', () => ({ id: '1' })],
    ['a text', () => 'created'],
    ['nothing', () => null],
    ['a stream', () => Readable.from(['created'])],
  ])('when the handler answers with %s, which becomes a 500', async (_what, body) => {
    const made = await application();
    const payload = body();
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      return reply.code(201).header('location', '/orders/1').header('content-language', 'en').send(payload);
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toMatchObject({ code: 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN' });
    expect(answer.headers).not.toHaveProperty('location');
    expect(answer.headers).not.toHaveProperty('content-language');
    expect(payload instanceof Readable ? payload.destroyed : true).toBe(true);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('when it was open for too long, and the answer says so', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      await request.startTransaction({ timeoutMs: 5 });
      await new Promise((resolve) => setTimeout(resolve, 30));
      return 'ok';
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
    expect(await leftovers(made)).toEqual([]);
  });

  test('when the client goes away, and a query after that is refused', async () => {
    const made = await application();
    const arrived = signal();
    const left = signal();
    const refused = signal<unknown>();
    made.app.get('/', async (request) => {
      const scope = await request.startTransaction();
      const connection = scope.resolve<IConnection>('IConnection');
      await connection.query('INSERT order');
      arrived.resolve();
      await left.promise;
      await connection.query('INSERT more').catch(refused.resolve);
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await arrived.promise;
    socket.destroy();
    expect(await leftovers(made)).toEqual([]);
    left.resolve();

    expect(await refused.promise).toMatchObject({ code: 'AMBIT_TX_ENDED' });
    expect(made.pool.stored).toEqual([]);
  });

  test('when the client goes away while the connection is awaited', async () => {
    const made = await application({ pool: { max: 1 } });
    const loan = await made.pool.getConnection();
    const waiting = signal();
    made.app.get('/', async (request) => {
      const starting = request.startTransaction();
      waiting.resolve();
      await starting;
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/'));
    await waiting.promise;
    socket.destroy();

    await expect.poll(() => made.pool.size.waiting, { interval: 1 }).toBe(0);
    loan.release();
    expect(await leftovers(made)).toEqual([]);
  });

  test('when the signal of the caller aborts', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      const own = new AbortController();
      await request.startTransaction({ signal: own.signal });
      own.abort(new Error('enough'));
      await request.commitTransaction();
    });

    const answer = await made.app.inject({ method: 'POST', url: '/' });

    expect(answer.json()).toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(await leftovers(made)).toEqual([]);
  });
});

describe('a commit stands', () => {
  test('when the answer cannot be sent after it', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await request.commitTransaction();
      return { id: 1n };
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).statusCode).toBe(500);
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });

  test('when the handler ended the transaction through the connection', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      const scope = await request.startTransaction();
      await store(request, 'INSERT order');
      await scope.resolve<IConnection>('IConnection').commit();
      return 'ok';
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).body).toBe('ok');
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });
});

describe('the transaction plugin', () => {
  test('requires the plugin `container`', async () => {
    const app = server();
    const registering = app.register(transactionPlugin);
    await expect(async () => registering).rejects.toMatchObject({ code: 'FST_ERR_PLUGIN_DEPENDENCY_NOT_REGISTERED' });
  });

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
    expect((await app.inject({ method: 'POST', url: '/' })).json()).toMatchObject({ code: 'AMBIT_TX_TIMEOUT' });
    expect(await leftovers({ container, pool })).toEqual([]);
  });
});
