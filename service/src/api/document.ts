import { createRequire } from 'node:module';
import type { TSchema } from 'typebox';
import { unrouted } from '../http/unrouted.js';
import { ErrorBody } from '../http/response.js';
import { NewOrder, Order, OrderItem } from '../orders/order.js';
import { NewUser, User } from '../users/user.js';
import { type Endpoint, type EndpointResponse, problem } from './endpoint.js';
import { API_ENDPOINTS } from './endpoints.js';
import { RESPONSE_HEADERS } from './headers.js';
import { PARAMETERS } from './parameters.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };

const INFO = {
  title: 'Users and orders',
  version,
  summary: 'A service built on Ambit.',
  description:
    'Bodies are JSON in UTF-8. Every response has an `x-request-id`. Every error response has the body ' +
    '`{ "error": string }` and nothing else, also outside the operations listed here: 404 for an unknown address, ' +
    '408 and 431 for requests that are too slow or too large. HEAD is supported wherever GET is.',
  license: { name: 'MIT', identifier: 'MIT' },
};

const TAGS = [
  { name: 'Users', description: 'The customers.' },
  { name: 'Orders', description: 'Orders, whose items are taken from stock.' },
  { name: 'Health', description: 'Health checks for load balancers and supervisors.' },
];

const SCHEMAS = { User, NewUser, Order, NewOrder, OrderItem, Error: ErrorBody };
const NAMES = new Map<unknown, string>(Object.entries(SCHEMAS).map(([name, schema]) => [schema, name]));

/** OpenAPI 3.1, generated from the schemas that validate requests. */
export function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/', description: 'The service that serves this document.' }],
    // There is no authentication.
    security: [],
    tags: TAGS,
    paths: pathsOf(API_ENDPOINTS),
    components: {
      schemas: mapValues(SCHEMAS, withNames),
      parameters: PARAMETERS,
      headers: RESPONSE_HEADERS,
    },
  };
}

function pathsOf(endpoints: readonly Endpoint[]): object {
  const paths: Record<string, object> = {};
  for (const endpoint of endpoints)
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  return paths;
}

function operation(endpoint: Endpoint): object {
  const { operationId, tag, summary, description, parameters, request, path } = endpoint;
  const notAllowed = problem('The response to any other method.', { other: unrouted(path).message }, ['allow']);
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(parameters.length > 0 && {
      parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    }),
    ...(request && { requestBody: { required: true, content: content(request.schema, request.examples) } }),
    responses: mapValues({ ...endpoint.responses, 405: notAllowed }, response),
  };
}

function response({ description, headers, schema, examples }: EndpointResponse): object {
  const refs = (['x-request-id', ...headers] as const).map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { description, headers: Object.fromEntries(refs), content: content(schema, examples) };
}

function content(schema: TSchema, examples: object): object {
  return { 'application/json': { schema: named(schema), examples: mapValues(examples, (value) => ({ value })) } };
}

/** A schema that has a name is referenced by it. */
function named(part: unknown): unknown {
  const name = NAMES.get(part);
  return name === undefined ? withNames(part) : { $ref: `#/components/schemas/${name}` };
}

function withNames(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(named);
  return typeof part === 'object' && part !== null ? mapValues(part, named) : part;
}

function mapValues(object: object, change: (value: never) => unknown): object {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value as never)]));
}
