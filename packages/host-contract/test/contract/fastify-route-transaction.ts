import { describe, expect } from 'vitest';
import { serveOnFastify } from '../support/serve-on-fastify.js';
import { ORDER } from '../support/stage.js';
import type { StageTest } from '../support/stage-test.js';

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
