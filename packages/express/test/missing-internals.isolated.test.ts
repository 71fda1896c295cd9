import { once } from 'node:events';
import type { RequestHandler } from 'express';
import { expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { application, expectAllEnded, respondToError, serve, store } from './support/app.js';

// The prototype of layers is changed: hence a file, and so a process, of its own.

interface Layer {
  readonly route?: { readonly stack: readonly Layer[] };
  handleRequest?: unknown;
  handleError?: unknown;
}

/** As a later version of Express might have them: its routers call layers by methods that the prototype does not have. */
function hideMethods(stack: readonly Layer[]): void {
  const prototype = Object.getPrototypeOf(stack[0]) as Required<Layer>;
  const { handleRequest, handleError } = prototype;
  const keep = (layers: readonly Layer[]): void => {
    for (const layer of layers) {
      Object.assign(layer, { handleRequest, handleError });
      if (layer.route) keep(layer.route.stack);
    }
  };
  keep(stack);
  Reflect.deleteProperty(prototype, 'handleRequest');
  Reflect.deleteProperty(prototype, 'handleError');
}

it('an Express whose layers have other methods is warned of once; its transactions roll back, and its other routes respond', async () => {
  const { app, container, pool } = application();
  const place: RequestHandler = async (req, res) => {
    await store(req, 'order');
    res.status(201).json('done');
  };
  app.post('/', withTransaction(), place);
  app.get('/', (_req, res) => void res.json('alive'));
  app.use(respondToError);
  hideMethods((app as unknown as { router: { stack: readonly Layer[] } }).router.stack);
  const warned = once(process, 'warning');
  const { post, fetch, close } = await serve(app);
  const refused = await post('/');
  expect([refused.status, await refused.json()]).toEqual([
    500,
    { error: expect.stringContaining('[npx ambit explain AMBIT_HTTP_FAILURES_UNSEEN]') },
  ]);
  expect(await warned).toMatchObject([{ code: 'AMBIT_HTTP_FAILURES_UNSEEN' }]);
  let warnings = 0;
  process.on('warning', () => (warnings += 1));
  expect([(await post('/')).status, (await fetch('/')).status]).toEqual([500, 200]);
  await close();
  expect([warnings, pool.stored]).toEqual([0, []]);
  await expectAllEnded({ container, pool });
});
