import { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import type { IConnection, TransactionError } from '@ambit/transaction';
import { FakePool } from '@ambit/transaction/testing';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { describe, expect, test, vi } from 'vitest';
import {
  containerMiddleware,
  requireTransactionScope,
  withTransaction,
  type WithTransactionOptions,
} from '../src/index.js';

const INSERT = 'INSERT INTO orders';

interface Setting {
  readonly options?: WithTransactionOptions;
  readonly pool?: FakePool;
  /** Middleware before that of the transaction. */
  readonly mount?: readonly MiddlewareHandler[];
}

/** An application on a fake database whose handler stores one row, then does `work`. */
function appWith(
  work: (c: Context) => Response | Promise<Response>,
  { options = {}, pool = new FakePool({ max: 1 }), mount = [] }: Setting = {},
) {
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  const app = new Hono();
  const middleware = containerMiddleware(container);
  const errors: unknown[] = [];
  app.use(middleware);
  app.onError((error, c) => {
    errors.push(error);
    return c.json({ error: 'failed' }, 500);
  });
  app.use('/orders', ...mount, withTransaction(options));
  app.post('/orders', async (c) => {
    await requireTransactionScope(c).resolve<IConnection>('IConnection').query(INSERT);
    return work(c);
  });
  const order = async (init: RequestInit = {}): Promise<Response> =>
    app.request('/orders', { method: 'POST', ...init });
  /** What is true when a request has finished, on every path. */
  const settle = async (): Promise<void> => {
    await middleware.drain();
    const balance = { open: openScopes(container).length, out: pool.out, violations: pool.violations };
    expect(balance).toEqual({ open: 0, out: 0, violations: [] });
  };
  return { app, container, errors, order, pool, settle };
}

const created = (c: Context): Response => c.json({ created: true }, 201);

test('a second withTransaction() is refused, and what the first has done is rolled back', async () => {
  const { order, errors, pool, settle } = appWith(created, {
    mount: [withTransaction()],
    pool: new FakePool({ max: 2 }),
  });
  const getConnection = vi.spyOn(pool, 'getConnection');
  expect((await order()).status).toBe(500);
  // Nobody would wait for a second one.
  expect(getConnection).toHaveBeenCalledTimes(1);
  expect(errors).toMatchObject([{ code: 'AMBIT_TX_ALREADY_OPEN' }]);
  expect(pool.stored).toEqual([]);
  await settle();
});

test('a handler that returns nothing is rolled back', async () => {
  const { order, errors, pool, settle } = appWith(async (c) => void created(c) as unknown as Response);
  expect((await order()).status).toBe(500);
  expect(errors).toMatchObject([{ message: expect.stringContaining('not finalized') }]);
  expect(pool.stored).toEqual([]);
  await settle();
});

test('a response of a status that rollbackOn() of its router names is rolled back', async () => {
  const pool = new FakePool({ max: 1 });
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  const ofRouter = containerMiddleware(container, { rollbackOn: (status) => status === 409 });
  const { order, settle } = appWith((c) => c.json({ error: 'taken' }, 409), { pool, mount: [ofRouter] });
  expect((await order()).status).toBe(409);
  expect(pool.stored).toEqual([]);
  await settle();
});

describe('a transaction is rolled back', () => {
  test('when COMMIT is refused: onError responds, and nothing of the first response is left', async () => {
    let isCancelled = false;
    const pool = new FakePool({ faultAt: (point) => ({ ms: 0, kind: point === 'commit' ? 'refused' : 'none' }) });
    const body = new ReadableStream({ cancel: () => void (isCancelled = true) });
    const addRequestId: MiddlewareHandler = async (c, next) => {
      c.header('x-request-id', '7');
      await next();
    };
    const { errors, order, settle } = appWith(
      (c) => {
        c.header('etag', '"1"');
        return c.body(body, 201, { location: '/orders/1', 'content-type': 'text/event-stream' });
      },
      { pool, mount: [addRequestId] },
    );
    const response = await order();
    expect([response.status, await response.json()]).toEqual([500, { error: 'failed' }]);
    expect(Object.fromEntries(response.headers)).toEqual({ 'content-type': 'application/json', 'x-request-id': '7' });
    expect(errors).toMatchObject([{ name: 'TransactionError' }]);
    expect([pool.stored, isCancelled]).toEqual([[], true]);
    await settle();
  });
});

test('the scope of the transaction is there while it is open, and only then', async () => {
  const seen: unknown[] = [];
  const look: MiddlewareHandler = async (c, next) => {
    seen.push(c.get('transactionScope'));
    await next();
    seen.push(c.get('transactionScope'));
  };
  const { order } = appWith(
    (c) => {
      seen.push((c.get('transactionScope') as Container).tags);
      return created(c);
    },
    { mount: [look] },
  );
  await order();
  expect(seen).toEqual([undefined, ['transaction'], undefined]);
});

test('onError receives failures that change no outcome, and the context', async () => {
  const reported: unknown[] = [];
  const { order } = appWith(
    (c) => {
      requireTransactionScope(c).defer?.(() => Promise.reject(new Error('it failed')));
      return created(c);
    },
    { options: { onError: (error: TransactionError, c) => void reported.push(error.code, c.req.path) } },
  );
  expect((await order()).status).toBe(201);
  expect(reported).toEqual(['AMBIT_TX_SCOPE_FAILED', '/orders']);
});

describe('without what it needs', () => {
  test('requireTransactionScope() says that there is no transaction', async () => {
    const { app, errors } = appWith(created);
    app.get('/plain', (c) => c.json(requireTransactionScope(c) !== undefined));
    expect((await app.request('/plain')).status).toBe(500);
    expect(errors).toMatchObject([{ code: 'AMBIT_HTTP_NO_TRANSACTION' }]);
  });

  test('withTransaction() says that there is no request scope', async () => {
    const errors: unknown[] = [];
    const app = new Hono().get('/', withTransaction(), (c) => c.text('hello'));
    app.onError((error, c) => {
      errors.push(error);
      return c.text('failed', 500);
    });
    expect((await app.request('/')).status).toBe(500);
    expect(errors).toMatchObject([{ code: 'AMBIT_NO_SCOPE' }]);
  });

  test.for<object>([{ onError: 'log' }, { rollbackOn: 400 }, { isolation: 'snapshot' }, { timeoutMs: -1 }])(
    '%o is refused at once',
    (options) => {
      expect(() => withTransaction(options)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
    },
  );
});
