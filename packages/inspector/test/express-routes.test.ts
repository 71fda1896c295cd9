import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { routeOf } from '../src/express-internals.js';

/** `npm run check -- hosts` installs these; `npm test` runs on the newest alone. */
const older: [name: string, version: typeof express][] = process.env['OLDER_EXPRESS']
  ? [
      // @ts-expect-error -- test/versions/express has them, with the types of no version
      ['Express 5.1', (await import('express-5.1')).default as typeof express],
      // @ts-expect-error -- as above
      ['Express 4', (await import('express-4')).default as typeof express],
    ]
  : [];

/** The same declarations on each version; the paths of requests have `acme`, a name that nobody may read. */
describe.each([['Express 5', express], ...older] as const)('the route of a request, on %s', (name, version) => {
  const orders = (): express.Router => version.Router().get('/orders/:id', (_req, res) => void res.end());
  const shared = orders();
  const inner = version().get('/orders/:id', (_req, res) => void res.end());
  const failing = version.Router().get('/:id', () => {
    throw new Error('it fails');
  });
  it.each<[what: string, declare: (app: express.Express) => unknown, path: string, route: string]>([
    ['as it was declared', (app) => app.get('/users/:id', (_req, res) => void res.end()), '/users/acme', '/users/:id'],
    ['in a router', (app) => app.use('/api/v1', orders()), '/api/v1/orders/7?secret=1', '/api/v1/orders/:id'],
    ['below a parameter', (app) => app.use('/t/:tenant', orders()), '/t/acme/orders/7', '/t/:tenant/orders/:id'],
    ['below an expression', (app) => app.use(/^\/t\/\w+/, orders()), '/t/acme/orders/7', '/:…/orders/:id'],
    [
      'in routers in routers',
      (app) => app.use('/v1', version.Router().use('/shop', shared)).use('/v2', shared),
      '/v1/shop/orders/1',
      '/v1/shop/orders/:id',
    ],
    [
      'in an application that a router has',
      (app) => app.use('/:tenant', version.Router().use(inner)),
      '/acme/orders/1',
      '/:…/orders/:id',
    ],
    ['left by an error', (app) => app.use('/failing', failing), '/failing/1', '/failing/:id'],
  ])('%s', async (_, declare, path, route) => {
    const app = version();
    let found: string | undefined;
    app.use((req, res, next) => {
      res.once('finish', () => (found = routeOf(req)));
      next();
    });
    declare(app);
    app.use((_error: unknown, _req: unknown, res: express.Response, _next: unknown) => void res.sendStatus(500));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    server.close();
    // Only the newest says what was declared where a router is mounted.
    expect(found).toEqual(
      name === 'Express 5' ? route : expect.stringMatching(/^\/(?:(?:users|orders|sub|:…)\/)*:id$/),
    );
  });
});
