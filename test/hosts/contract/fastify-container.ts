import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { fastify } from 'fastify';
import { describe, expect } from 'vitest';
import { serveOnFastify } from '../support/serve-on-fastify.js';
import type { StageTest } from '@ambit/testing/hosts';

/** What the tables say of the plugin-based host only: the container plugin. */
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
