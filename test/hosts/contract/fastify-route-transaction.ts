import type { FastifyInstance, FastifyReply } from 'fastify';
import { describe, expect } from 'vitest';
import { fastifyWith } from '../adapters/fastify.js';
import { serveOnFastify } from '../support/serve-on-fastify.js';
import { ORDER } from '@ambit/testing/tools';
import type { StageTest } from '@ambit/testing/hosts';

/** What a transaction of a route guarantees on a real connection. */
export function fastifyRouteTransactionContract(test: StageTest): void {
  describe('a route with config.transaction', () => {
    test('begins, commits and releases its connection before the response', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', { config: { transaction: true } }, async (request, reply) => {
          await stage.insertOrder({ transactionScope: request.transactionScope! });
          return reply.code(201).send({});
        }),
      );
      expect((await stage.order()).status).toBe(201);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
      expect(await stage.stored()).toBe(true);
    });

    test('rolls back at once when the client disconnects', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', { config: { transaction: true } }, async (request) => {
          await stage.insertOrder({ transactionScope: request.transactionScope! });
          await new Promise<void>(() => undefined);
        }),
      );
      const client = await stage.client();
      client.send(ORDER);
      await stage.pool.reaches('query');
      client.reset();
      await stage.quiet();
      expect(stage.pool.steps).toContain('rollback');
      expect(await stage.stored()).toBe(false);
    });

    test.for([true, false])(
      'takes back the trailers of a response that COMMIT refuses, with an error handler: %s',
      async (ownErrorHandler, { stage }) => {
        const withTrailer = (reply: FastifyReply): FastifyReply =>
          reply.code(201).trailer('x-sum', (_reply, _payload, done) => done(null, 'abc'));
        const mount = (app: FastifyInstance): void => {
          app.post('/orders', { config: { transaction: true } }, async (request, reply) => {
            await stage.insertRefusedOrder({ transactionScope: request.transactionScope! });
            return withTrailer(reply).send({});
          });
          app.post('/own', async (request, reply) => {
            await stage.insertRefusedOrder({ transactionScope: await request.startTransaction() });
            withTrailer(reply);
            await request.commitTransaction();
            return reply.send({});
          });
        };
        await stage.serve([], { host: fastifyWith(mount), ownErrorHandler });
        const client = await stage.client();
        for (const path of ['/orders', '/own', '/orders']) {
          const { status, headers } = await client.request({ ...ORDER, path });
          const framing = ['content-length', 'transfer-encoding', 'trailer'].filter((name) => name in headers);
          expect([path, status, framing]).toEqual([path, 500, ['content-length']]);
          expect(client.unread).toBe('');
        }
      },
    );

    test('responds with the error where COMMIT fails', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', { config: { transaction: true } }, async (request, reply) => {
          await stage.insertRefusedOrder({ transactionScope: request.transactionScope! });
          return reply.code(201).header('location', '/orders/1').send({});
        }),
      );
      const response = await stage.order();
      expect(response.status).toBe(500);
      expect(response.headers['location']).toBeUndefined();
      expect(await stage.stored()).toBe(false);
    });
  });
}
