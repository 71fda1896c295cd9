import { openScopes } from '@ambit/container/tools';
import express, { type ErrorRequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { signal } from '@ambit/test-kit';
import { hasTag, Registration, scope, singleton } from '@ambit/container';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { containerMiddleware, requireTransactionScope, resolve, withDeps, withTransaction } from '../src/index.js';
import { application, expectAllEnded, respondToError, serve, store } from './support/app.js';

describe('resolve()', () => {
  it('says what is missing where no middleware ran', () => {
    expect(() => resolve({} as express.Request, 'IGreeting')).toThrow(
      expect.objectContaining({ code: 'AMBIT_NO_SCOPE' }),
    );
  });
});

describe('withDeps()', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      'broken',
    ],
    ['rejects', () => Promise.reject(new Error('broken')), 'broken'],
    ['rejects with nothing', () => Promise.reject(undefined), 'The handler failed, and gave no reason'],
  ])('passes it on when the handler %s', async (_name, handler, error) => {
    const { app } = application();
    app.get('/', withDeps({}, handler));
    app.use(respondToError);
    expect(await (await (await serve(app)).fetch('/')).json()).toEqual({ error });
  });

  it('passes on that a service is missing', async () => {
    const { app } = application();
    app.get('/', withDeps({ context: 'INobody' as 'IRequestContext' }, boom)).use(respondToError);
    expect(await (await (await serve(app)).fetch('/')).json()).toEqual({ error: expect.stringContaining('INobody') });
  });
});

describe('a request scope', () => {
  it('is disposed for both when the middleware is mounted twice', async () => {
    const { app, container } = application();
    app.get('/', containerMiddleware(container), (_req, res) => res.json(openScopes(container).length));
    const { fetch, close } = await serve(app);
    expect(await (await fetch('/')).json()).toBe(2);
    await close();
    expect(openScopes(container)).toEqual([]);
  });
});

/** Stores where it was made: in the transaction, or outside of it. */
class Orders {
  constructor(private readonly connection: Pick<IConnection, 'query'>) {}

  async create(text: string): Promise<void> {
    await this.connection.query(text);
  }
}

declare module '@ambit/container' {
  interface ServiceMap {
    IOrderStore: Orders;
  }
}

/** An order repository for plain routes, and another for those with a transaction. */
function shop() {
  const made = application();
  const { container } = made;
  container.addRegistration(
    Registration.fromFactory((s) => new Orders(s.resolve<IDatabasePool>('IDatabasePool')))
      .pipe(singleton(), scope(hasTag('request')))
      .to('IOrderStore'),
    Registration.fromFactory((s) => new Orders(s.resolve<IConnection>('IConnection')))
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IOrderStore'),
  );
  return made;
}

const boom = (): never => {
  throw new Error('boom');
};

describe('behind withTransaction()', () => {
  it('the services of a handler that succeeds are those of its transaction', async () => {
    const { app, pool } = shop();
    app.post(
      '/',
      withTransaction(),
      withDeps({ orders: 'IOrderStore' }, async (req, res, { orders }) => {
        await orders.create('order');
        res.json([orders === resolve(req, 'IOrderStore'), orders === req.container.resolve('IOrderStore')]);
        // It is being committed.
        expect(pool.stored).toEqual([]);
      }),
    );
    expect(await (await (await serve(app)).post('/')).json()).toEqual([true, false]);
    expect(pool.stored).toEqual(['order']);
  });

  it('a middleware before it, and a handler after its response, have the services of the request', async () => {
    const { app } = shop();
    const after = signal<boolean>();
    app.post(
      '/',
      (req, res, next) => {
        res.locals['before'] = resolve(req, 'IOrderStore') === req.container.resolve('IOrderStore');
        next();
      },
      withTransaction(),
      (req, res) => {
        res.json(res.locals['before']);
        after.resolve(resolve(req, 'IOrderStore') === req.container.resolve('IOrderStore'));
      },
    );
    expect(await (await (await serve(app)).post('/')).json()).toBe(true);
    expect(await after.promise).toBe(true);
  });

  it('an error handler has the services of the request, also after it waited', async () => {
    const { app, container, pool } = shop();
    app.post('/', withTransaction(), boom);
    app.use((async (_error, req, res, _next) => {
      const isOf = (): boolean => resolve(req, 'IOrderStore') === req.container.resolve('IOrderStore');
      const atOnce = isOf();
      await new Promise((go) => setImmediate(go));
      res.status(500).json([atOnce, isOf()]);
    }) satisfies ErrorRequestHandler);
    const { post, close } = await serve(app);
    expect(await (await post('/')).json()).toEqual([true, true]);
    await close();
    await expectAllEnded({ container, pool });
  });

  it('a handler whose transaction was rolled back under it does not go on outside of it', async () => {
    const { app, pool } = shop();
    const refused = signal<unknown>();
    const responded = signal();
    app.post('/', withTransaction({ timeoutMs: 1000 }), async (req) => {
      await responded.promise;
      try {
        await resolve(req, 'IOrderStore').create('order');
      } catch (error) {
        refused.resolve(error);
      }
    });
    const services: unknown[] = [];
    app.use(((_error, req, res, _next) => {
      services.push(resolve(req, 'IOrderStore') === req.container.resolve('IOrderStore'));
      res.status(503).end();
    }) satisfies ErrorRequestHandler);
    expect((await (await serve(app)).post('/')).status).toBe(503);
    responded.resolve();
    expect(await refused.promise).toMatchObject({ code: 'AMBIT_DISPOSED' });
    expect(services).toEqual([true]);
    expect(pool.stored).toEqual([]);
  });
});

describe('requireTransactionScope()', () => {
  it('says what is missing where there is none', () => {
    const call = (): unknown => requireTransactionScope({});
    expect(call).toThrow(expect.objectContaining({ code: 'AMBIT_HTTP_NO_TRANSACTION' }));
    expect(call).toThrow('withTransaction()');
  });
});

describe('withTransaction()', () => {
  it('rolls back a response that rollbackOn of its router names', async () => {
    const { app, pool, container } = application();
    const router = express.Router();
    router.use(containerMiddleware(container, { rollbackOn: (status) => status >= 400 }));
    for (const path of [app.post.bind(app), router.post.bind(router)])
      path('/orders', withTransaction(), (req, res) => store(req, 'order').then(() => void res.status(409).json('no')));
    app.use('/inner', router);
    const server = await serve(app);
    expect([(await server.post('/inner/orders')).status, pool.stored]).toEqual([409, []]);
    expect([(await server.post('/orders')).status, pool.stored]).toEqual([409, ['order']]);
    await expectAllEnded({ container, pool });
  });

  it('refuses to run twice for one request', async () => {
    const { app, pool, container } = application();
    app.post('/', withTransaction(), withTransaction(), (_req, res) => void res.json('done'));
    app.use(respondToError);
    const response = await (await serve(app)).post('/');
    expect(await response.json()).toEqual({
      error: expect.stringContaining('[npx ambit explain AMBIT_TX_ALREADY_OPEN]'),
    });
    await expectAllEnded({ container, pool });
  });

  it('says what is missing when no request scope is there', async () => {
    const app = express().post('/', withTransaction()).use(respondToError);
    const response = await (await serve(app)).post('/');
    expect(await response.json()).toEqual({
      error: expect.stringContaining('[npx ambit explain AMBIT_NO_SCOPE]'),
    });
  });
});
