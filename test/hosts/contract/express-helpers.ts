import { resolve, withDeps } from '@ambit/express';
import { describe, expect } from 'vitest';
import { serveOnExpress } from '../support/serve-on-express.js';
import type { StageTest } from '@ambit/testing/hosts';

/** What the tables say of the middleware-based host only: `resolve` and `withDeps`. */
export function expressHelperContract(test: StageTest): void {
  describe('the helpers', () => {
    test('resolve(req, key) is req.container.resolve(key)', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
        app.get(
          '/',
          (req, res) => void res.json(resolve(req, 'IRequestContext') === req.container.resolve('IRequestContext')),
        ),
      );
      expect((await stage.get()).text).toBe('true');
    });

    test('withDeps() hands over services by their names', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
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
      await serveOnExpress(stage, (app) => app.get('/', withDeps({}, fail)));
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'secret' }]);
    });

    test('withDeps() passes on that a service is missing', async ({ stage }) => {
      await serveOnExpress(stage, (app) =>
        app.get(
          '/',
          withDeps({ nobody: 'INobody' }, (_req, res) => void res.end()),
        ),
      );
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_NOT_REGISTERED' }]);
    });
  });
}
