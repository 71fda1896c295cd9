import type { IConnection } from '@ambit/transaction';
import { withTransaction } from '@ambit/express';
import type { Response } from 'express';
import { describe, expect } from 'vitest';
import { serveOnExpress } from '../support/serve-on-express.js';
import { ORDER } from '@ambit/testing/tools';
import type { StageTest } from '@ambit/testing/hosts';

/** What the tables say of the middleware-based host only: the response that waits for COMMIT. */
export function expressResponseContract(test: StageTest): void {
  describe('a response behind withTransaction()', () => {
    test('a response that cannot be serialised is rolled back', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
        app.post('/orders', withTransaction(), async (req, res) => {
          await stage.insertOrder({ transactionScope: req.transactionScope! });
          res.status(201).json({ big: 1n });
        }),
      );
      expect((await stage.order()).status).toBe(500);
      expect(await stage.stored()).toBe(false);
    });

    const responses: readonly { name: string; respond: (res: Response) => void; text: string }[] = [
      {
        name: 'writeHead() and end()',
        respond: (res) => void res.writeHead(201, { 'x-a': 'b' }).end('hello'),
        text: 'hello',
      },
      {
        name: 'flushHeaders(), write() and end()',
        respond: (res) => {
          res.status(201).set('x-a', 'b').flushHeaders();
          res.write('hel');
          res.end('lo');
        },
        text: 'hello',
      },
      {
        name: 'end() with a callback',
        respond: (res) =>
          void res
            .status(201)
            .set('x-a', 'b')
            .end('hello', () => res.emit('done')),
        text: 'hello',
      },
      {
        name: 'bytes',
        respond: (res) => void res.status(201).set('x-a', 'b').send(Buffer.from('hello')),
        text: 'hello',
      },
      {
        name: 'a file',
        respond: (res) =>
          res
            .status(201)
            .set('x-a', 'b')
            .sendFile(new URL('../../tsconfig.json', import.meta.url).pathname),
        text: '"extends"',
      },
    ];
    test.for(responses)(
      '$name is held back until COMMIT has succeeded, and loses nothing',
      async ({ respond, text }, { stage }) => {
        await serveOnExpress(stage, (app) => {
          app.get('/ping', (_req, res) => void res.end());
          app.post('/orders', withTransaction(), async (req, res) => {
            await stage.insertOrder({ transactionScope: req.transactionScope! });
            respond(res);
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

    test('where no handler behind it responds, the response is 404', async ({ stage }) => {
      await serveOnExpress(stage, (app) => app.post('/orders', withTransaction(), (_req, _res, next) => next()));
      expect((await stage.order()).status).toBe(404);
    });

    test('a client that leaves rolls back, also when its socket is destroyed from here', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
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
      await serveOnExpress(stage, (app) =>
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
