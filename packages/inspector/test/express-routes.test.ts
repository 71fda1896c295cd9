import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { routeOf } from '../src/express-internals.js';

/** `npm run check -- hosts` installs these; `npm test` runs on the newest alone. */
const older: [name: string, version: typeof express, isExact: boolean][] = process.env['OLDER_EXPRESS']
  ? [
      // @ts-expect-error -- test/versions/express has them, with the types of no version
      ['Express 5.1', (await import('express-5.1')).default as typeof express, false],
      // @ts-expect-error -- as above
      ['Express 4', (await import('express-4')).default as typeof express, false],
    ]
  : [];

/** The same declarations on each version; the paths of requests have `acme`, a name that nobody may read. */
describe.each([['Express 5', express, true], ...older] as const)(
  'the route of a request, on %s',
  (_name, version, isExact) => {
    async function routesOf(
      declare: (app: express.Express) => void,
      ...paths: string[]
    ): Promise<(string | undefined)[]> {
      const app = version();
      const routes: (string | undefined)[] = [];
      app.use((req, res, next) => {
        res.once('finish', () => routes.push(routeOf(req)));
        next();
      });
      declare(app);
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      for (const path of paths) await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
      server.close();
      return routes;
    }
    const orders = (): express.Router => version.Router().get('/orders/:id', (_req, res) => void res.end());

    it('has the path as it was declared', async () => {
      expect(await routesOf((app) => void app.get('/users/:id', (_req, res) => void res.end()), '/users/acme')).toEqual(
        ['/users/:id'],
      );
    });

    it('has the literal path of a router', async () => {
      expect(await routesOf((app) => void app.use('/api/v1', orders()), '/api/v1/orders/7?secret=1')).toEqual([
        '/api/v1/orders/:id',
      ]);
    });

    it('has no value of a parameter that a router is mounted at', async () => {
      const declared = isExact ? '/tenants/:tenant/orders/:id' : '/tenants/:…/orders/:id';
      expect(await routesOf((app) => void app.use('/tenants/:tenant', orders()), '/tenants/acme/orders/7')).toEqual([
        declared,
      ]);
    });

    it('has none of one that is mounted by an expression', async () => {
      const [route] = await routesOf((app) => void app.use(/^\/tenants\/\w+/, orders()), '/tenants/acme/orders/7');
      expect(route).toMatch(/^\/(tenants\/)?:…\/orders\/:id$/);
    });

    it('has the paths of routers in routers, of several that have the same one, and of an application in an application', async () => {
      const shared = orders();
      const inner = version();
      inner.use('/inner', shared);
      const routes = await routesOf(
        (app) => {
          app.use('/v1', version.Router().use('/shop', shared));
          app.use('/v2', shared);
          app.use('/sub', inner);
        },
        '/v1/shop/orders/1',
        '/v2/orders/1',
        '/sub/inner/orders/1',
      );
      expect(routes).toEqual(['/v1/shop/orders/:id', '/v2/orders/:id', '/sub/inner/orders/:id']);
    });

    it('says nothing of the path to an application that a router has', async () => {
      const inner = version();
      inner.get('/orders/:id', (_req, res) => void res.end());
      const routes = await routesOf((app) => void app.use('/:tenant', version.Router().use(inner)), '/acme/orders/1');
      expect(routes).toEqual(['/:…/orders/:id']);
    });

    it('is the one that an error left', async () => {
      const failing = version.Router().get('/:id', () => {
        throw new Error('it fails');
      });
      const routes = await routesOf((app) => {
        app.use('/failing', failing);
        app.use((_error: unknown, _req: unknown, res: express.Response, _next: unknown) => void res.sendStatus(500));
      }, '/failing/1');
      expect(routes).toEqual(['/failing/:id']);
    });
  },
);
