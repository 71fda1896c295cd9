import { Readable } from 'node:stream';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { fastify, type FastifyInstance, type FastifyReply } from 'fastify';
import { describe, expect } from 'vitest';
import { expectTakenBack, MANY_HEADERS, type StageTest } from '@ambit/testing/hosts';
import { Pause } from '@ambit/test-kit';
import { ORDER } from '@ambit/testing/tools';
import { fastifyWith, serveOnFastify } from '../adapters/fastify.js';

/** The rows of the tables for the plugin-based host only: the container plugin. */
export function fastifyContainerContract(test: StageTest): void {
  describe('the container plugin', () => {
    test('the plugins go by the names container and transaction', async ({ stage }) => {
      await serveOnFastify(stage, (app) => {
        expect(app.hasPlugin('container')).toBe(true);
        expect(app.hasPlugin('transaction')).toBe(true);
        expect(app.hasDecorator('container')).toBe(true);
        expect(app.container).toBe(stage.app);
        const members = [
          'container',
          'transactionScope',
          'startTransaction',
          'commitTransaction',
          'rollbackTransaction',
        ];
        for (const member of members) expect(app.hasRequestDecorator(member)).toBe(true);
      });
    });

    test('the transaction plugin refuses to be registered without the container plugin', async () => {
      const app = fastify();
      await expect(async () => app.register(transactionPlugin)).rejects.toThrow(/container/);
    });

    test('the container is there in the hooks of the routes, in every context', async ({ stage }) => {
      await serveOnFastify(stage, (app) =>
        app.register((child, _options, done) => {
          child.addHook('preHandler', async (request) => void request.container.resolve('IRequestContext'));
          child.get('/', (request) => request.container.resolve('IRequestContext'));
          done();
        }),
      );
      expect((await stage.get()).status).toBe(200);
    });

    test('registered in one context only, the plugin gives scopes to that context only', async ({ stage }) => {
      const app = fastify();
      await app.register(async (child) => {
        await child.register(containerPlugin, { container: stage.app });
        child.get('/in', (request) => ({ has: Boolean(request.container) }));
      });
      app.get('/out', (request) => ({ has: Boolean(request.container) }));
      expect((await app.inject('/in')).json()).toEqual({ has: true });
      expect((await app.inject('/out')).json()).toEqual({ has: false });
      expect(stage.scopes.count('request')).toBe(1);
      await app.close();
    });

    test.for([
      { disposeOn: 'error', open: false },
      { disposeOn: 'response', open: true },
    ] as const)(
      'disposeOn: $disposeOn decides whether the error handler finds the scope',
      async ({ disposeOn, open }, { stage }) => {
        let found: boolean | undefined;
        await serveOnFastify(
          stage,
          (app) =>
            app.register((child, _options, done) => {
              child.setErrorHandler((_error, request, reply) => {
                try {
                  found = Boolean(request.container.resolve('IRequestContext'));
                } catch {
                  found = false;
                }
                return reply.code(418).send({});
              });
              child.post('/orders', async (request) => {
                await stage.insertOrder({ transactionScope: await request.startTransaction() });
                throw new Error('secret');
              });
              done();
            }),
          { disposeOn },
        );
        expect((await stage.order()).status).toBe(418);
        expect(found).toBe(open);
        expect(await stage.stored()).toBe(false);
        await stage.quiet();
        expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
      },
    );

    test('server.close() disposes the application container', async ({ stage }) => {
      await serveOnFastify(stage, () => undefined);
      expect(stage.app.disposed).toBe(false);
      await stage.close();
      expect(stage.app.disposed).toBe(true);
    });
  });
}

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

/** Guarantees of a route's transaction on a real connection. */
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
