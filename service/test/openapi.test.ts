import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connectionLost } from '@ambit/test-kit';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../src/api/document.js';
import { createExpressApp } from '../src/hosts/express.js';
import { createFastifyApp } from '../src/hosts/fastify.js';
import { createAppContainer, createLogger, readConfig } from '../src/index.js';
import { onBothHosts, onOneStage } from './support/stage.js';
import { ordersAnd, usersAnd } from './support/replacements.js';

interface Content {
  readonly 'application/json': { readonly schema: object; readonly example?: unknown };
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly headers: object; readonly content: Content }>>;
}

const text = openApiDocument();
const { paths, components } = JSON.parse(text) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
};
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

/** With each reference replaced by what it leads to. */
function resolved(part: unknown): object {
  const inline = (_: string, value: unknown): unknown => {
    const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(\w+)$/.exec(String(Object(value).$ref)) ?? [];
    return name === '' ? value : components[kind]?.[name];
  };
  return JSON.parse(JSON.stringify(part, inline)) as object;
}

const errorsOf = ({ schema }: Content['application/json'], value: unknown): unknown[] =>
  Compile(resolved(schema)).Errors(value);

interface Layer {
  readonly rawPath?: string;
  readonly route?: { readonly path: string | RegExp; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
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
  const server = await create().finally(() => unsubscribe('fastify.initialization', listen));
  await server.close();
  return routes;
}

describe('the document', () => {
  test('refers only to parts that it has, and uses each of them', () => {
    const referred = Array.from(text.matchAll(/"\$ref": "#\/components\/([^"]+)"/g), ([, path = '']) => path);
    const parts = Object.entries(components).flatMap(([kind, own]) =>
      Object.keys(own).map((name) => `${kind}/${name}`),
    );
    expect([...new Set(referred)].toSorted()).toEqual(parts.toSorted());
  });

  test('has every route of both hosts, and no other', async () => {
    await using container = createAppContainer(readConfig({ DATA_DIR: ':memory:' }));
    const options = { logger: createLogger('silent') };
    const express = createExpressApp(container, options).router.stack as unknown as readonly Layer[];
    const documented = operations.map(({ method, path }) => `${method} ${path}`);
    for (const routes of [
      expressRoutes('', express),
      await fastifyRoutes(() => createFastifyApp(container, options)),
    ]) {
      // The root of a router exists with a trailing slash and without.
      const names = routes.map((route) => route.replace(/(\/api\/.*)\/$/, '$1').replaceAll(/:(\w+)/g, '{$1}'));
      const own = [...new Set(names)].filter((name) => !/^HEAD |^GET \/(?:docs|openapi\.json)$/.test(name));
      expect(own.toSorted()).toEqual(documented.toSorted());
    }
  });
});

onOneStage((stage) => {
  test('each operation takes its example, and responds as the document says', async () => {
    expect((await stage.app.request({ path: '/openapi.json' })).body).toEqual(JSON.parse(text));
    let id = '';
    for (const { path, method, operation } of operations.toSorted((one, other) =>
      one.method < other.method ? 1 : -1,
    )) {
      const { example: body } = operation.requestBody?.content['application/json'] ?? {};
      const {
        status,
        headers,
        body: received,
      } = await stage.app.request<{ id: string }>({
        method,
        path: path.replace('{id}', id),
        body,
      });
      if (path === '/api/users') id ||= received.id;
      const described = operation.responses[status];
      expect([operation.operationId, status]).toEqual([operation.operationId, method === 'POST' ? 201 : 200]);
      expect(errorsOf(described!.content['application/json'], received)).toEqual([]);
      expect(headers.has('x-request-id')).toBe(true);
    }
  });

  test.each(Object.keys(paths))('%s refuses other methods, and names those of the document', async (path) => {
    const other = { method: 'DELETE', path: path.replace('{id}', 'x') };
    const { status, headers, body } = await stage.app.request(other);
    const methods = Object.keys(paths[path] ?? {}).map((method) => (method === 'get' ? 'GET, HEAD' : 'POST'));
    const allow = methods.join(', ');
    expect([status, headers.get('allow')]).toEqual([405, allow]);
    expect(body).toEqual({ error: `This address accepts ${allow} only` });
  });
});

onBothHosts((stage) => {
  const exampleOf = (path: string): object =>
    paths[path]?.['post']?.requestBody?.content['application/json'].example as object;

  /** Sends a body that is refused, and holds the response to the document. */
  async function refusalOf(path: string, body: unknown, sent: Record<string, string> = {}): Promise<number> {
    const response = await stage.post(path, body, sent);
    const { headers, content } = paths[path]?.['post']?.responses[response.status] ?? expect.fail(`${response.status}`);
    expect(errorsOf(content['application/json'], response.body)).toEqual([]);
    const described = [...response.headers.keys()].filter((name) => name in (components['headers'] ?? {}));
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(described));
    return response.status;
  }

  test.each(['/api/users', '/api/orders'])('each error of a POST to %s is one of the document', async (path) => {
    await stage.rows(`INSERT INTO stock (product_id, level) VALUES ('apple', 2)`);
    const example = exampleOf(path);
    const key = { 'idempotency-key': 'a-key' };
    const other = { ...example, name: 'Other', items: [{ productId: 'pear', quantity: 1 }] };
    expect((await stage.post(path, other, key)).status).toBe(201);
    const statuses = [
      await refusalOf(path, {}),
      await refusalOf(path, '"'.padEnd(2 ** 20 + 1)),
      await refusalOf(path, example, { 'content-type': 'text/plain' }),
      await refusalOf(path, example, key),
    ];
    if (path === '/api/orders') statuses.push(await refusalOf(path, example));
    for (const error of [new Error('It went wrong'), connectionLost()]) {
      const fail = (): Promise<never> => Promise.reject(error);
      stage.replace(usersAnd(fail), ordersAnd(fail));
      statuses.push(await refusalOf(path, other));
    }
    expect(statuses).toEqual([400, 413, 415, 422, ...(path === '/api/orders' ? [409] : []), 500, 503]);
  });
});
