import { createRequire } from 'node:module';
import type { TSchema } from 'typebox';
import { ErrorBody } from '../http/response.js';
import { NewOrder, Order, OrderItem } from '../orders/orders.js';
import { NewUser, User } from '../users/users.js';
import {
  API_ENDPOINTS,
  CALLER_REFUSED,
  type Endpoint,
  type EndpointResponse,
  FAILURES,
  KEY_USED,
  PARAMETERS,
  REFUSALS_OF_BODY,
  RESPONSE_HEADERS,
} from './endpoints.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };

export const INFO = {
  title: 'Users and orders',
  version,
  summary: 'A service built on Ambit.',
  description:
    'Bodies are JSON in UTF-8. Every response has an `x-request-id`, and none may be cached. Every error response has the body ' +
    '`{ "error": string }` and nothing else, also outside the operations listed here: 404 for an unknown address, ' +
    '405 with `allow` for a method that an address does not support, 408 and 431 for requests that are too slow or ' +
    'too large. HEAD is supported wherever GET is.',
  license: { name: 'MIT', identifier: 'MIT' },
};

export const TAGS = [
  { name: 'Users', description: 'The customers.' },
  { name: 'Orders', description: 'Orders, whose items are taken from stock.' },
  { name: 'Health', description: 'Health checks for load balancers and supervisors.' },
];

const SCHEMAS = { User, NewUser, Order, NewOrder, OrderItem, Error: ErrorBody };
/** The responses that several operations have. */
const RESPONSES = {
  CallerRefused: CALLER_REFUSED,
  ServiceFailed: FAILURES[500],
  BodyTooLarge: REFUSALS_OF_BODY[413],
  BodyNotJson: REFUSALS_OF_BODY[415],
  KeyUsed: KEY_USED,
};

/** Where the document has a part to which it refers. */
const PLACES = new Map<unknown, string>([...placesOf('schemas', SCHEMAS), ...placesOf('responses', RESPONSES)]);

/** OpenAPI 3.1, generated from the schemas that validate requests. */
export function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/', description: 'The service that serves this document.' }],
    // Nothing is required: only a program that sets `identify` checks callers, in a way of its own.
    security: [],
    tags: TAGS,
    paths: pathsOf(API_ENDPOINTS),
    components: {
      schemas: mapValues(SCHEMAS, withReferences),
      responses: mapValues(RESPONSES, response),
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
  const { operationId, tag, summary, description, parameters, request } = endpoint;
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(parameters.length > 0 && {
      parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    }),
    ...(request && { requestBody: { required: true, content: content(request.schema, request.examples) } }),
    responses: mapValues({ ...endpoint.responses, 401: CALLER_REFUSED }, (one) => reference(one) ?? response(one)),
  };
}

function response({ description, headers, schema, examples, links }: EndpointResponse): object {
  const refs = (['x-request-id', ...headers] as const).map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return {
    description,
    headers: Object.fromEntries(refs),
    content: content(schema, examples),
    ...(links && { links: linksTo(links) }),
  };
}

function linksTo(links: NonNullable<EndpointResponse['links']>): object {
  const list = Object.entries(links).map(([operationId, parameters]) => [operationId, { operationId, parameters }]);
  return Object.fromEntries(list);
}

function content(schema: TSchema, examples: object): object {
  return { 'application/json': { schema: referenced(schema), examples } };
}

function placesOf(kind: string, parts: object): [unknown, string][] {
  return Object.entries(parts).map(([name, part]) => [part, `#/components/${kind}/${name}`]);
}

function reference(part: unknown): object | undefined {
  const $ref = PLACES.get(part);
  return $ref === undefined ? undefined : { $ref };
}

function referenced(part: unknown): unknown {
  return reference(part) ?? withReferences(part);
}

function withReferences(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(referenced);
  return typeof part === 'object' && part !== null ? mapValues(part, referenced) : part;
}

function mapValues(object: object, change: (value: never) => unknown): object {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value as never)]));
}
