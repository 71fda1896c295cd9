import type { IConnection } from '@ambit/transaction';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { containerMiddleware, drain, resolve, withDeps, withTransaction } from '@ambit/express';
import express, { type Express, type Request, type Response, Router } from 'express';
import { describe, expect } from 'vitest';
import { connectionLost, RawClient } from '../../src/index.js';
import { expressWith } from '../hosts/express.js';
import { ORDER, type Stage } from '../support/stage.js';
import type { StageTest } from '../support/stage-test.js';

const serve = (stage: Stage, mount: (app: Express) => void): Promise<void> =>
  stage.serve([], { host: expressWith(mount) });

/** What the tables say of the middleware-based host only. */
export function variantMPromises(test: StageTest): void {
  describe('variant M', () => {
    test('resolve(req, key) is req.container.resolve(key)', async ({ stage }) => {
      await serve(stage, (app) =>
        app.get(
          '/',
          (req, res) => void res.json(resolve(req, 'IRequestContext') === req.container.resolve('IRequestContext')),
        ),
      );
      expect((await stage.get()).text).toBe('true');
    });

    test('withDeps() hands over services by their names', async ({ stage }) => {
      await serve(stage, (app) =>
        app.get(
          '/',
          withDeps({ context: 'IRequestContext', pool: 'IDatabasePool' }, (req, res, services) => {
            res.json({
              names: Object.keys(services),
              same: services.context === req.container.resolve('IRequestContext'),
            });
          }),
        ),
      );
      expect(JSON.parse((await stage.get()).text)).toEqual({ names: ['context', 'pool'], same: true });
    });

    test.for([
      {
        name: 'throws',
        fail: () => {
          throw new Error('secret');
        },
      },
      { name: 'rejects with', fail: () => Promise.reject(new Error('secret')) },
    ])('withDeps() passes on what its handler $name', async ({ fail }, { stage }) => {
      await serve(stage, (app) => app.get('/', withDeps({}, fail)));
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'secret' }]);
    });

    test('withDeps() passes on that a service is missing', async ({ stage }) => {
      await serve(stage, (app) =>
        app.get(
          '/',
          withDeps({ nobody: 'INobody' }, (_req, res) => void res.end()),
        ),
      );
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_NOT_REGISTERED' }]);
    });

    test('the transaction is the one of req.transactionScope, and there is none without the step', async ({
      stage,
    }) => {
      await serve(stage, (app) => {
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
      await serve(stage, (app) => {
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
      await serve(stage, (app) =>
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
      await serve(stage, (app) =>
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

    test('a COMMIT that fails takes back what was said of the answer, and nothing else', async ({ stage }) => {
      await serve(stage, (app) =>
        app.post('/orders', withTransaction(), async (req, res) => {
          await stage.insertOrder({ transactionScope: req.transactionScope! });
          res.set({ 'content-language': 'en', etag: '"1"', location: '/orders/1', 'x-request-id': '7' });
          res.status(201).json({ created: true });
        }),
      );
      stage.pool.before('commit', () => {
        throw connectionLost();
      });
      const { status, headers } = await stage.order();
      expect(status).toBe(503);
      expect(headers).toMatchObject({ 'x-request-id': '7', 'content-type': 'application/json; charset=utf-8' });
      expect(headers).not.toHaveProperty('content-language');
      expect(headers).not.toHaveProperty('location');
      expect(headers['etag']).not.toBe('"1"');
    });

    test('rollbackOn() rolls back an answer of that status, and the client still has it', async ({ stage }) => {
      await serve(stage, (app) =>
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

    test('an answer that cannot be serialised is rolled back', async ({ stage }) => {
      await serve(stage, (app) =>
        app.post('/orders', withTransaction(), async (req, res) => {
          await stage.insertOrder({ transactionScope: req.transactionScope! });
          res.status(201).json({ big: 1n });
        }),
      );
      expect((await stage.order()).status).toBe(500);
      expect(await stage.stored()).toBe(false);
    });

    const answers: readonly { name: string; answer: (res: Response) => void; text: string }[] = [
      {
        name: 'writeHead() and end()',
        answer: (res) => void res.writeHead(201, { 'x-a': 'b' }).end('hello'),
        text: 'hello',
      },
      {
        name: 'flushHeaders(), write() and end()',
        answer: (res) => {
          res.status(201).set('x-a', 'b').flushHeaders();
          res.write('hel');
          res.end('lo');
        },
        text: 'hello',
      },
      {
        name: 'end() with a callback',
        answer: (res) =>
          void res
            .status(201)
            .set('x-a', 'b')
            .end('hello', () => res.emit('done')),
        text: 'hello',
      },
      {
        name: 'bytes',
        answer: (res) => void res.status(201).set('x-a', 'b').send(Buffer.from('hello')),
        text: 'hello',
      },
      {
        name: 'a file',
        answer: (res) =>
          res
            .status(201)
            .set('x-a', 'b')
            .sendFile(new URL('../tsconfig.json', import.meta.url).pathname),
        text: '"extends"',
      },
    ];
    test.for(answers)(
      '$name is held back until COMMIT is answered, and loses nothing',
      async ({ answer, text }, { stage }) => {
        await serve(stage, (app) => {
          app.get('/ping', (_req, res) => void res.end());
          app.post('/orders', withTransaction(), async (req, res) => {
            await stage.insertOrder({ transactionScope: req.transactionScope! });
            answer(res);
          });
        });
        const client = await stage.client();
        let early = -1;
        stage.pool.before('commit', async () => {
          await stage.get('/ping');
          early = client.received;
        });
        const received = await client.request(ORDER);
        expect(early).toBe(0);
        expect(received).toMatchObject({ status: 201, headers: { 'x-a': 'b' } });
        expect(received.text).toContain(text);
        expect(await stage.stored()).toBe(true);
        await stage.quiet();
        expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
      },
    );

    test('a step that nobody answers behind is answered 404', async ({ stage }) => {
      await serve(stage, (app) => app.post('/orders', withTransaction(), (_req, _res, next) => next()));
      expect((await stage.order()).status).toBe(404);
    });

    test('a client that leaves rolls back, also when its socket is destroyed from here', async ({ stage }) => {
      await serve(stage, (app) =>
        app.post('/orders', withTransaction(), async (req, res) => {
          await stage.insertOrder({ transactionScope: req.transactionScope! });
          res.destroy();
        }),
      );
      const client = await stage.client();
      client.send(ORDER);
      await client.closed();
      await stage.quiet();
      expect(await stage.stored()).toBe(false);
      expect(stage.pool.steps).not.toContain('commit');
    });

    test('a query that is not awaited is still in the transaction', async ({ stage }) => {
      await serve(stage, (app) =>
        app.post('/orders', withTransaction(), (req, res) => {
          const connection = req.transactionScope!.resolve<IConnection>('IConnection');
          void connection.query('INSERT INTO orders (id) VALUES ($1)', [stage.orderId]);
          res.status(201).json({});
        }),
      );
      expect((await stage.order()).status).toBe(201);
      expect(await stage.stored()).toBe(true);
    });
  });
}
