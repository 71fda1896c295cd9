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

describe('a transaction is rolled back', () => {
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

test.for<object>([{ onError: 'log' }, { rollbackOn: 400 }, { isolation: 'snapshot' }, { timeoutMs: -1 }])(
  '%o is refused at once',
  (options) => {
    expect(() => withTransaction(created, options)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
  },
);
