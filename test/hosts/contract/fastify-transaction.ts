import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { Pause } from '@ambit/test-kit';
import { expectTakenBack, MANY_HEADERS } from '@ambit/testing/hosts';
import { serveOnFastify } from '../support/serve-on-fastify.js';
import { ORDER } from '@ambit/testing/tools';
import type { StageTest } from '@ambit/testing/hosts';

/** What the tables say of the plugin-based host only: the transaction plugin. */
export function fastifyTransactionContract(test: StageTest): void {
  describe('the transaction plugin', () => {
    test('startTransaction() opens the transaction and returns its scope', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request) => {
          const before = request.transactionScope ?? null;
          const scope = await request.startTransaction();
          const same = scope === request.transactionScope;
          await stage.insertOrder({ transactionScope: scope });
          await request.commitTransaction();
          return { before, same, after: request.transactionScope ?? null };
        }),
      );
      expect((await stage.order()).text).toBe('{"before":null,"same":true,"after":null}');
      expect(await stage.stored()).toBe(true);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
    });

    test('commitTransaction() without one throws "No transaction in progress"', async ({ stage }) => {
      await serveOnFastify(stage, (app) => app.post('/orders', (request) => request.commitTransaction()));
      expect((await stage.order()).status).toBe(500);
      expect((stage.errors[0] as Error).message).toBe('No transaction in progress');
    });

    test('rollbackTransaction() without one returns without effect', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request) => {
          await request.rollbackTransaction();
          return { fine: true };
        }),
      );
      expect((await stage.order()).text).toBe('{"fine":true}');
      expect(stage.pool.steps).toEqual([]);
    });

    test('rollbackTransaction() rolls back, clears the scope, and may be called again', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request) => {
          await stage.insertOrder({ transactionScope: await request.startTransaction() });
          await Promise.all([request.rollbackTransaction(), request.rollbackTransaction()]);
          await request.rollbackTransaction();
          return { scope: request.transactionScope ?? null };
        }),
      );
      expect((await stage.order()).text).toBe('{"scope":null}');
      expect(await stage.stored()).toBe(false);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
    });

    test('one request may have two transactions, one after the other', async ({ stage }) => {
      const second: string = crypto.randomUUID();
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request) => {
          await stage.insertOrder({ transactionScope: await request.startTransaction() });
          await request.commitTransaction();
          await stage.insertOrder({ transactionScope: await request.startTransaction() }, second);
          await request.rollbackTransaction();
          return {};
        }),
      );
      expect((await stage.order()).status).toBe(200);
      expect([await stage.stored(), await stage.stored(second)]).toEqual([true, false]);
    });

    test('a second startTransaction() is refused, and the first transaction is rolled back with the error', async ({
      stage,
    }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request) => {
          await stage.insertOrder({ transactionScope: await request.startTransaction() });
          await request.startTransaction();
          return {};
        }),
      );
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_TX_ALREADY_OPEN' }]);
      expect(await stage.stored()).toBe(false);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
    });

    test('two startTransaction() side by side cost one connection', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request) => {
          const both = await Promise.allSettled([request.startTransaction(), request.startTransaction()]);
          await request.commitTransaction();
          return both.map(({ status }) => status);
        }),
      );
      expect((await stage.order()).text).toBe('["fulfilled","rejected"]');
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'commit', 'release']);
    });

    test.for(['returns', 'does not return'])(
      'a transaction left open by a handler that %s its response is rolled back, and the response is a coded 500',
      async (how, { stage }) => {
        await serveOnFastify(stage, (app) =>
          app.post('/orders', async (request, reply) => {
            await stage.insertOrder({ transactionScope: await request.startTransaction() });
            void reply.code(201).headers(MANY_HEADERS).send({ created: true });
            return how === 'returns' ? reply : undefined;
          }),
        );
        const response = await stage.order();
        expect(response.status).toBe(500);
        expectTakenBack(response);
        expect(JSON.parse(response.text)).toMatchObject({ code: expect.stringMatching(/^AMBIT_HTTP_/) as string });
        expect(await stage.stored()).toBe(false);
        expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
      },
    );

    test('an order handler that rolls back and throws again is rolled back once', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request) => {
          try {
            await stage.insertOrder({ transactionScope: await request.startTransaction() });
            throw new Error('secret');
          } catch (error) {
            await request.rollbackTransaction();
            throw error;
          }
        }),
      );
      expect((await stage.order()).status).toBe(500);
      expect(await stage.stored()).toBe(false);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
    });

    test('a response that does not fit its schema leaves what was committed', async ({ stage }) => {
      await serveOnFastify(stage, (app) => {
        const schema = {
          response: { 201: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } },
        };
        app.post('/orders', { schema }, async (request, reply) => {
          await stage.insertOrder({ transactionScope: await request.startTransaction() });
          await request.commitTransaction();
          return reply.code(201).send({});
        });
      });
      expect((await stage.order()).status).toBe(500);
      expect(await stage.stored()).toBe(true);
    });

    test('an error after the response does not undo the commit', async ({ stage }) => {
      const broken = new Pause();
      await serveOnFastify(stage, (app) =>
        app.post('/orders', async (request, reply) => {
          await stage.insertOrder({ transactionScope: await request.startTransaction() });
          await request.commitTransaction();
          async function* words(): AsyncGenerator<string> {
            yield 'first';
            await broken.here();
            throw new Error('the source broke');
          }
          return reply.code(201).send(Readable.from(words()));
        }),
      );
      const client = await stage.client();
      client.send(ORDER);
      await client.hears('first');
      broken.letGo();
      await client.closed();
      await stage.quiet();
      expect(await stage.stored()).toBe(true);
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
    });
  });
}
