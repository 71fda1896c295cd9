import { currentScope } from '@ambit/container';
import type { IContainer } from '@ambit/container';
import type { IConnection, TransactionError } from '@ambit/transaction';
import { type FakeFault, FakePool, type FaultPoint } from '@ambit/transaction/testing';
import { describe, expect, test } from 'vitest';
import {
  createHandler,
  type Handler,
  type HandlerOptions,
  withTransaction,
  type WithTransactionOptions,
} from '../src/index.js';
import { App, get, settled, SlowBody } from './support/app.js';

const INSERT = 'INSERT INTO orders';
const created = (): Response => Response.json({ created: true }, { status: 201 });
const fine: FakeFault = { ms: 0, kind: 'none' };

interface Setting {
  readonly transaction?: WithTransactionOptions;
  readonly request?: HandlerOptions;
  readonly faultAt?: (point: FaultPoint) => FakeFault;
}

/** An application on a fake database whose handler stores one row, then does `work`. */
function appWith(work: Handler, { transaction, request, faultAt = () => fine }: Setting = {}) {
  const app = new App();
  const pool = new FakePool({ max: 1, faultAt });
  app.container.register('IDatabasePool', () => pool);
  const insert: Handler = async (req, scope, context) => {
    await scope.resolve<IConnection>('IConnection').query(INSERT);
    return work(req, scope, context);
  };
  const handler = createHandler(app.container, withTransaction(insert, transaction), request);
  /** What is true when a request has finished, on every path. */
  const settle = async (): Promise<void> => {
    await handler.drain();
    expect({ open: app.open, out: pool.out, violations: pool.violations }).toEqual({ open: 0, out: 0, violations: [] });
  };
  return { app, pool, handler, settle };
}

describe('a response in a transaction', () => {
  test('is returned when COMMIT has succeeded and the connection is back in the pool', async () => {
    const { handler, pool, settle } = appWith(created);
    const response = await handler(get());
    expect([response.status, await response.json()]).toEqual([201, { created: true }]);
    expect([pool.stored, pool.out]).toEqual([[INSERT], 0]);
    await settle();
  });

  test('is made with a scope tagged transaction below that of the request', async () => {
    const seen: unknown[] = [];
    const { handler } = appWith((_request, scope) => {
      const { tags, parent } = scope as unknown as { tags: string[]; parent: { tags: string[] } };
      seen.push(tags, parent.tags);
      return created();
    });
    await handler(get());
    expect(seen).toEqual([['transaction'], ['request']]);
  });

  test('of an error status is committed, unless rollbackOn() names it', async () => {
    const taken = (): Response => Response.json({ error: 'taken' }, { status: 409 });
    const without = appWith(taken);
    expect((await without.handler(get())).status).toBe(409);
    expect(without.pool.stored).toEqual([INSERT]);
    const rollingBack = appWith(taken, { transaction: { rollbackOn: (status) => status >= 400 } });
    expect((await rollingBack.handler(get())).status).toBe(409);
    expect(rollingBack.pool.stored).toEqual([]);
    await rollingBack.settle();
  });

  test('that streams is sent after COMMIT, and keeps the request scope open', async () => {
    const body = new SlowBody();
    const { app, handler, pool, settle } = appWith(() => new Response(body.stream));
    const response = await handler(get());
    expect([pool.stored, app.open]).toEqual([[INSERT], 1]);
    body.end();
    await response.text();
    await settle();
  });
});

describe('a transaction is rolled back', () => {
  test('when its handler throws, before the host receives the error', async () => {
    const { handler, pool, settle } = appWith(() => {
      throw new Error('the reason');
    });
    await expect(handler(get())).rejects.toThrow('the reason');
    expect([pool.stored, pool.out]).toEqual([[], 0]);
    await settle();
  });

  test('when rollbackOn() throws', async () => {
    const rollbackOn = (): boolean => {
      throw new Error('the reason');
    };
    const { handler, pool, settle } = appWith(created, { transaction: { rollbackOn } });
    await expect(handler(get())).rejects.toThrow('the reason');
    expect(pool.stored).toEqual([]);
    await settle();
  });

  test('when COMMIT is refused, and the body of the response is cancelled', async () => {
    const body = new SlowBody();
    const { handler, pool, settle } = appWith(() => new Response(body.stream), {
      faultAt: (point) => (point === 'commit' ? { ms: 0, kind: 'refused' } : fine),
    });
    await expect(handler(get())).rejects.toMatchObject({ name: 'TransactionError' });
    expect(pool.stored).toEqual([]);
    expect(body.isCancelled).toBe(true);
    await settle();
  });

  test('when its handler rolled back itself, and its error response stands', async () => {
    const { handler, pool, settle } = appWith(async (_request, scope) => {
      await scope.resolve<IConnection>('IConnection').rollback();
      return new Response(null, { status: 409 });
    });
    expect((await handler(get())).status).toBe(409);
    expect(pool.stored).toEqual([]);
    await settle();
  });

  test('when its handler rolled back itself; a success is not reported then', async () => {
    const { handler, settle } = appWith(async (_request, scope) => {
      await scope.resolve<IConnection>('IConnection').rollback();
      return created();
    });
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    await settle();
  });

  test.each([
    ['nothing', () => undefined],
    ['no response', () => ({ created: true })],
    ['Response.error()', () => Response.error()],
    [
      'a response that was read',
      async () => {
        const response = created();
        await response.text();
        return response;
      },
    ],
    [
      'a response that is being read',
      () => {
        const response = created();
        response.body?.getReader();
        return response;
      },
    ],
  ])('when its handler returns %s', async (_name, work) => {
    const { handler, pool, settle } = appWith(work as Handler);
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_HTTP_NO_RESPONSE', status: 500 });
    expect(pool.stored).toEqual([]);
    await settle();
  });

  test('at its time limit, though the handler never responds', async () => {
    const { handler, pool, settle } = appWith(() => new Promise<Response>(() => undefined), {
      transaction: { timeoutMs: 20 },
    });
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_TX_TIMEOUT', status: 503 });
    expect(pool.stored).toEqual([]);
    await settle();
  });

  test('at once when the client leaves, and the body of a late response is cancelled', async () => {
    const client = new AbortController();
    const body = new SlowBody();
    let letGo = (): void => undefined;
    const { handler, pool, settle } = appWith(async () => {
      client.abort();
      await new Promise<void>((resolve) => (letGo = resolve));
      return new Response(body.stream);
    });
    expect((await handler(get({ signal: client.signal }))).status).toBe(499);
    await settle();
    expect(pool.stored).toEqual([]);
    letGo();
    await settled();
    expect(body.isCancelled).toBe(true);
  });

  test('when the client leaves while it waits for a connection: the handler never runs', async () => {
    const client = new AbortController();
    let ran = false;
    const { handler, pool, settle } = appWith(() => {
      ran = true;
      return created();
    });
    const taken = await pool.getConnection();
    const response = handler(get({ signal: client.signal }));
    await settled();
    client.abort();
    expect((await response).status).toBe(499);
    taken.release();
    await settle();
    expect([ran, pool.stored]).toEqual([false, []]);
  });

  test('when the application container is disposed', async () => {
    const { app, handler, pool } = appWith(async () => {
      await app.container.dispose();
      return created();
    });
    await expect(handler(get())).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    expect([pool.stored, pool.out]).toEqual([[], 0]);
  });
});

test('a client that leaves while COMMIT is in progress does not undo it', async () => {
  const client = new AbortController();
  const { handler, pool, settle } = appWith(created, {
    faultAt: (point) => {
      if (point === 'commit') client.abort();
      return { ms: 5, kind: 'none' };
    },
  });
  expect((await handler(get({ signal: client.signal }))).status).toBe(499);
  await settle();
  expect(pool.stored).toEqual([INSERT]);
});

test('with current: true the transaction scope is the current one', async () => {
  const { handler } = appWith(async (_request, scope) => Response.json(currentScope() === scope), {
    request: { current: true },
  });
  expect(await (await handler(get())).json()).toBe(true);
});

test('onError receives failures that change no outcome, and the request', async () => {
  const reported: unknown[] = [];
  const { handler } = appWith(
    (_request, scope) => {
      scope.defer?.(() => Promise.reject(new Error('it failed')));
      return created();
    },
    { transaction: { onError: (error: TransactionError, { url }) => void reported.push(error.code, url) } },
  );
  expect((await handler(get())).status).toBe(201);
  expect(reported).toEqual(['AMBIT_TX_SCOPE_FAILED', 'http://localhost/']);
});

test('in a scope that the application opened by itself, the signal of the request rolls back', async () => {
  const app = new App();
  const pool = new FakePool();
  app.container.register('IDatabasePool', () => pool);
  const scope: IContainer = app.container.createScope({ tags: ['request'] });
  const client = new AbortController();
  const handler = withTransaction(() => {
    client.abort();
    return new Promise<Response>(() => undefined);
  });
  await expect(handler(get({ signal: client.signal }), scope, undefined)).rejects.toMatchObject({
    code: 'AMBIT_TX_ABORTED',
  });
  expect(pool.out).toBe(0);
});

test.for<[string, object]>([
  ['onError', { onError: 'log' }],
  ['rollbackOn', { rollbackOn: 400 }],
])('an invalid %s is refused at once', ([, options]) => {
  expect(() => withTransaction(created, options)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
});

test.for<object>([{ isolation: 'snapshot' }, { timeoutMs: -1 }])('%o is refused at once', (options) => {
  expect(() => withTransaction(created, options)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
});
