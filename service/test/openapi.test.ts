import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { REFERENCE_PATHS } from '../src/api/reference.js';
import { HOST_VARIANTS } from '../src/config/config.js';
import { onOneStage } from './support/every-stage.js';
import { document, operations } from './support/openapi-document.js';
import { routesOf } from './support/openapi-routes.js';
import { produce, wayTo, waysKnown } from './support/openapi-responses.js';

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
