import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { API_ENDPOINTS, HEADERS, openApiDocument } from '../src/api/document.js';
import { REFERENCE_PATHS } from '../src/api/reference.js';
import { HOST_VARIANTS } from '../src/config/config.js';
import { onOneStage } from './support/every-stage.js';
import { produce, type Promised, waysKnown, wayTo } from './support/openapi-responses.js';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { createExpressApp } from '../src/hosts/express.js';
import { createFastifyApp } from '../src/hosts/fastify.js';
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

const promised = API_ENDPOINTS.flatMap((endpoint) =>
  Object.entries(endpoint.responses).flatMap(([status, { content, headers }]) => {
    const { schema, examples } = content['application/json'];
    return Object.entries(examples).map(([name, { value }]) => {
      const promise = { status: Number(status), name, schema, example: value, headers: Object.keys(headers) };
      return [
        `${endpoint.method} ${endpoint.path} gets ${status} ${name}`,
        endpoint,
        promise satisfies Promised,
      ] as const;
    });
  }),
);
const paths = [...new Set(API_ENDPOINTS.map(({ path }) => path))];
const errorsOf = (schema: object, value: unknown): unknown[] => Compile(schema).Errors(value);

/** The structure of a value: its keys without its values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))].toSorted();
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

describe('the document', () => {
  test('has examples that match their schemas', () => {
    for (const { request, parameters } of API_ENDPOINTS) {
      const { schema = {}, examples = {} } = request?.['application/json'] ?? {};
      for (const { value } of Object.values(examples)) expect(errorsOf(schema, value)).toEqual([]);
      for (const { schema: own, example } of parameters)
        if (example !== undefined) expect(errorsOf(own, example)).toEqual([]);
    }
    for (const [, , { schema, example }] of promised) expect(errorsOf(schema, example)).toEqual([]);
  });

  test('refers only to parts that it has, and uses each of them', () => {
    const text = openApiDocument();
    const { components } = JSON.parse(text) as { components: Record<string, object> };
    const referred = Array.from(text.matchAll(/"\$ref": "#\/components\/([^"]+)"/g), ([, path = '']) => path);
    const parts = Object.entries(components).flatMap(([kind, own]) =>
      Object.keys(own).map((name) => `${kind}/${name}`),
    );
    expect([...new Set(referred)].toSorted()).toEqual(parts.toSorted());
  });

  test.each(HOST_VARIANTS)('has every route of %s, and no other', async (variant) => {
    const documented = API_ENDPOINTS.map(({ method, path }) => `${method} ${path}`);
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
    expect(headers.has('x-request-id')).toBe(true);
    for (const name of Object.keys(HEADERS)) if (!promise.headers.includes(name)) expect(headers.has(name)).toBe(false);
  });

  test.each(paths)('%s refuses other methods, and names those of the document', async (path) => {
    const other = { method: 'DELETE', path: path.replace('{id}', 'x') };
    const { status, headers, body } = await stage.app.request(other);
    const methods = API_ENDPOINTS.filter((endpoint) => endpoint.path === path).map(({ method }) => method);
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    expect([status, headers.get('allow')]).toEqual([405, allow]);
    expect(body).toEqual({ error: `This address accepts ${allow} only` });
  });
});
