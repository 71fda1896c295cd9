import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { createExpressApp } from '../../src/hosts/express/app.js';
import { createFastifyApp } from '../../src/hosts/fastify/app.js';
import { createAppContainer, createLogger, readConfig } from '../../src/index.js';
import type { HostVariant } from './app.js';

interface Layer {
  readonly rawPath?: string;
  readonly route?: { readonly path: string | RegExp; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/** Every route of a host, as `GET /api/users/{id}`, sorted, without HEAD, which every GET route has. */
export async function routesOf(variant: HostVariant): Promise<readonly string[]> {
  await using container = createAppContainer(readConfig({ DATA_DIR: ':memory:' }));
  const options = { logger: createLogger('silent') };
  const routes =
    variant === 'express'
      ? expressRoutes('', createExpressApp(container, options).router.stack as unknown as readonly Layer[])
      : await fastifyRoutes(() => createFastifyApp(container, options));
  // The root of a router exists with a trailing slash and without.
  const names = routes.map((route) => route.replace(/(\/api\/.*)\/$/, '$1').replaceAll(/:(\w+)/g, '{$1}'));
  return [...new Set(names)].filter((name) => !name.startsWith('HEAD ')).toSorted();
}

function expressRoutes(prefix: string, stack: readonly Layer[]): string[] {
  return stack.flatMap(({ rawPath = '', route, handle }) => {
    const path = `${prefix}${rawPath}`.replace(/\/$/, '');
    // A pattern is not a route of the API: it refuses OPTIONS at every address.
    if (route && typeof route.path !== 'string') return [];
    if (route) return Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${prefix}${route.path}`);
    return handle.stack ? expressRoutes(path, handle.stack) : [];
  });
}

async function fastifyRoutes(create: () => Promise<FastifyInstance>): Promise<string[]> {
  const routes: string[] = [];
  const listen = (message: unknown): void => {
    const note = ({ method, url }: RouteOptions): void =>
      void routes.push(...[method].flat().map((name) => `${name} ${url}`));
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', note);
  };
  subscribe('fastify.initialization', listen);
  try {
    const server = await create();
    await server.ready();
    await server.close();
  } finally {
    unsubscribe('fastify.initialization', listen);
  }
  return routes;
}
