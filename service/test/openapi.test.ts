import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { REFERENCE_PATHS } from '../src/api/reference.js';
import { HOST_VARIANTS } from '../src/config/config.js';
import { onOneStage } from './support/every-stage.js';
import { document, operations } from './support/openapi-document.js';
import { produce, waysKnown, wayTo } from './support/openapi-responses.js';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { createExpressApp } from '../src/hosts/express/app.js';
import { createFastifyApp } from '../src/hosts/fastify/app.js';
import { createAppContainer, createLogger, readConfig } from '../src/index.js';
import type { HostVariant } from './support/app.js';

interface Layer {
  readonly rawPath?: string;
  readonly route?: { readonly path: string | RegExp; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/** Every route of a host, as `GET /api/users/{id}`, sorted, without HEAD, which every GET route has. */
async function routesOf(variant: HostVariant): Promise<readonly string[]> {
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

const KNOWN_HEADERS = Object.entries(document.components.headers);

const promised = operations.flatMap((operation) =>
  operation.responses.map((response) => {
    const name = `${operation.method} ${operation.path} gets ${response.status} ${response.name}`;
    return [name, operation, response] as const;
  }),
);
const paths = Object.entries(document.paths).map(
  ([path, methods]) => [path, Object.keys(methods).map((method) => method.toUpperCase())] as const,
);
const errorsOf = (schema: object, value: unknown): unknown[] => Compile(schema).Errors(value);

/** The structure of a value: its keys without its values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))].toSorted();
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

describe('the document', () => {
  test('has examples that match their schemas', () => {
    const parts = operations.flatMap(({ request, parameters, responses }) => [
      ...Object.values(request?.examples ?? {}).map((example) => ({ schema: request?.schema ?? {}, example })),
      ...parameters.filter(({ example }) => example !== undefined),
      ...responses,
    ]);
    for (const { schema, example } of parts) expect(errorsOf(schema, example)).toEqual([]);
  });

  test.each(HOST_VARIANTS)('has every route of %s, and no other', async (variant) => {
    const documented = operations.map(({ method, path }) => `${method} ${path}`);
    const ofTheReference = REFERENCE_PATHS.map((path) => `GET ${path}`);
    expect(await routesOf(variant)).toEqual([...documented, ...ofTheReference].toSorted());
  });

  test('has no response that this test does not cause', () => {
    const ways = promised.map(([, , response]) => wayTo(response));
    expect(ways).not.toContain(undefined);
    expect(waysKnown.filter((way) => !ways.includes(way))).toEqual([]);
  });
});

onOneStage((stage) => {
  test.each(promised)('%s, as the document says', async (_name, operation, promise) => {
    const { status, headers, body } = await produce(stage, operation, promise);
    expect(status).toBe(promise.status);
    expect(errorsOf(promise.schema, body)).toEqual([]);
    if (status < 400) expect(shapeOf(body)).toEqual(shapeOf(promise.example));
    else expect(body).toEqual(promise.example);

    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    for (const [name, { required = false }] of KNOWN_HEADERS) {
      if (!promise.headers.includes(name)) expect(headers.has(name)).toBe(false);
      else if (required) expect(headers.has(name)).toBe(true);
    }
  });

  test.each(paths)('%s refuses other methods, and names those of the document', async (path, methods) => {
    const other = { method: 'DELETE', path: path.replace('{id}', 'x') };
    const { status, headers, body } = await stage.app.request(other);
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    expect([status, headers.get('allow')]).toEqual([405, allow]);
    expect(body).toEqual({ error: `This address accepts ${allow} only` });
  });
});
