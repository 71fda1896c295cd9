import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { hasTag, Registration, scope } from '@ambit/container';
import {
  containerMiddleware,
  drain,
  requireTransactionScope,
  resolve,
  withDeps,
  withTransaction,
} from '@ambit/express';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import express, { type Request, type Response, Router } from 'express';
import { describe, expect } from 'vitest';
import { RawClient } from '@ambit/test-kit';
import { serveOnExpress } from '../support/serve-on-express.js';
import { ORDER } from '@ambit/testing/tools';
import type { StageTest } from '@ambit/testing/hosts';

/** What the tables say of the middleware-based host only: who decides the transaction. */
export function expressTransactionContract(test: StageTest): void {
  describe('a handler behind withTransaction()', () => {
    test('the transaction is the one of req.transactionScope, and there is none without the step', async ({
      stage,
    }) => {
      await serveOnExpress(stage, (app) => {
        app.get(
          '/',
          (req, res) => void res.json({ has: 'transactionScope' in req && req.transactionScope !== undefined }),
        );
        app.get('/orders', withTransaction(), (req, res) => {
          req.transactionScope?.resolve('IConnection');
          res.json({ has: req.transactionScope !== undefined });
        });
      });
      expect((await stage.get()).text).toBe('{"has":false}');
      expect((await stage.get('/orders')).text).toBe('{"has":true}');
    });

    test('a handler in a router in a router that fails is rolled back', async ({ stage }) => {
      await serveOnExpress(stage, (app) => {
        const inner = Router().post('/', async (req: Request) => {
          await stage.insertOrder({ transactionScope: req.transactionScope! });
          throw new Error('secret');
        });
        app.use('/orders', withTransaction(), Router().use('/', Router().use('/', inner)));
      });
      expect((await stage.order()).status).toBe(500);
      expect(await stage.stored()).toBe(false);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
    });

    test('an error handler of the route that responds does not save the work', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
        app.post(
          '/orders',
          withTransaction(),
          async (req: Request) => {
            await stage.insertOrder({ transactionScope: req.transactionScope! });
            throw new Error('secret');
          },
          (_error: unknown, _req: Request, res: Response, _next: unknown) => void res.json({ fine: true }),
        ),
      );
      expect(await stage.order()).toMatchObject({ status: 200, text: '{"fine":true}' });
      expect(await stage.stored()).toBe(false);
    });

    test('a handler that failed is rolled back at once: its error handler may take its time', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
        app.post(
          '/orders',
          withTransaction(),
          async (req: Request) => {
            await stage.insertOrder({ transactionScope: req.transactionScope! });
            throw new Error('secret');
          },
          async (_error: unknown, _req: Request, res: Response, _next: unknown) => {
            await stage.pool.reaches('release');
            res.status(418).json({});
          },
        ),
      );
      expect((await stage.order()).status).toBe(418);
    });

    test('a handler that fails in an application without error handlers is rolled back', async ({ stage }) => {
      const app = express();
      app.set('env', 'test');
      app.use(containerMiddleware(stage.app));
      app.post('/orders', withTransaction(), async (req) => {
        await stage.insertOrder({ transactionScope: req.transactionScope! });
        throw new Error('secret');
      });
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const client = await RawClient.connect((server.address() as AddressInfo).port);
      expect((await client.request(ORDER)).status).toBe(500);
      client.leave();
      await drain(server);
      expect(await stage.stored()).toBe(false);
    });

    test('a handler that never responds: at the time limit its client gets 503 and Retry-After', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
        app.post('/orders', withTransaction({ timeoutMs: 300 }), async (req) => {
          await stage.insertOrder({ transactionScope: requireTransactionScope(req) });
          await new Promise(() => undefined);
        }),
      );
      expect(await stage.order()).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_TX_TIMEOUT' }]);
      expect(await stage.stored()).toBe(false);
    });

    test('what its handler resolves is part of the transaction, by resolve() and withDeps(), also when it fails', async ({
      stage,
    }) => {
      stage.app.addRegistration(
        Registration.fromFactory((s) => s.resolve<IDatabasePool>('IDatabasePool'))
          .pipe(scope(hasTag('request')))
          .to('IOrders'),
        Registration.fromFactory((s) => s.resolve<IConnection>('IConnection'))
          .pipe(scope(hasTag('transaction')))
          .to('IOrders'),
      );
      const insert = 'INSERT INTO orders (id) VALUES ($1)';
      await serveOnExpress(stage, (app) => {
        const handler = withDeps({ orders: 'IOrders' }, async (req, _res, { orders }) => {
          await (orders as IConnection).query(insert, [stage.orderId]);
          await resolve<IConnection>(req, 'IOrders').query(insert, [`${stage.orderId}, too`]);
          throw new Error('secret');
        });
        app.post('/orders', withTransaction(), handler);
      });
      expect((await stage.order()).status).toBe(500);
      expect([await stage.stored(), await stage.stored(`${stage.orderId}, too`)]).toEqual([false, false]);
    });

    test('rollbackOn() rolls back a response of that status, and the client still has it', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
        app.post('/orders', withTransaction({ rollbackOn: (status) => status >= 400 }), async (req, res) => {
          await stage.insertOrder({ transactionScope: req.transactionScope! });
          res.status(409).json({ error: 'taken' });
        }),
      );
      expect(await stage.order()).toMatchObject({ status: 409, text: '{"error":"taken"}' });
      expect(await stage.stored()).toBe(false);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
    });
  });
}
