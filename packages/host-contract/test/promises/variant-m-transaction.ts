import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { containerMiddleware, drain, withTransaction } from '@ambit/express';
import express, { type Request, type Response, Router } from 'express';
import { describe, expect } from 'vitest';
import { RawClient } from '../../src/index.js';
import { serveOnExpress } from '../support/serve-on-express.js';
import { ORDER } from '../support/stage.js';
import type { StageTest } from '../support/stage-test.js';

/** What the tables say of the middleware-based host only: who decides the transaction. */
export function variantMTransactionPromises(test: StageTest): void {
  describe('variant M, a handler behind withTransaction()', () => {
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

    test('an error handler of the route that answers does not save the work', async ({ stage }) => {
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

    test('rollbackOn() rolls back an answer of that status, and the client still has it', async ({ stage }) => {
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
