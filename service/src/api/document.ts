import { createRequire } from 'node:module';
import { Type } from 'typebox';
import { ErrorBody } from '../http/response.js';
import { idOf } from '../ids.js';
import { NewOrder, Order } from '../orders/orders.js';
import { Limit, NewUser, User } from '../users/users.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };

export const SCHEMAS = { User, NewUser, Order, NewOrder, Error: ErrorBody };

export const HEADERS = {
  'x-request-id': { description: 'Identifies this request in the log of the service.', schema: idOf('A UUID.') },
  'idempotency-replayed': {
    description: 'Present when the work was done before: this is the response to the first request with the same key.',
    schema: Type.Literal('true'),
  },
  'retry-after': {
    description: 'Present when a retry of the same request may succeed after this many seconds.',
    schema: Type.Integer({ minimum: 1 }),
  },
};

const PARAMETERS = {
  id: { name: 'id', in: 'path', required: true, description: 'The id of a user.', schema: idOf('A UUID.') },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of users; all users when absent.',
    schema: Limit,
  },
  after: {
    name: 'after',
    in: 'query',
    description: 'Only users after the one with this id: with `limit`, the id of the last user of the page before.',
    schema: idOf('A UUID.'),
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A text that is unique for each piece of work. For 24 hours the same request with the same key gets the first ' +
      'response again, and the work is done once, however often the request is sent.',
    schema: Type.String({ minLength: 1, maxLength: 255 }),
  },
};

/** An operation, as far as the API reference shows it. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (typeof PARAMETERS)[keyof typeof PARAMETERS][];
  readonly requestBody?: { readonly required: true; readonly content: ReturnType<typeof content> };
  readonly responses: Readonly<Record<number, ReturnType<typeof response>>>;
}

const schema = (name: keyof typeof SCHEMAS) => ({ $ref: `#/components/schemas/${name}` });

const content = (body: object, example?: unknown) => ({ 'application/json': { schema: body, example } });

function response(description: string, body: object, ...names: (keyof typeof HEADERS)[]) {
  const headers = ['x-request-id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }] as const);
  return { description, headers: Object.fromEntries(headers), content: content(body) };
}

const refusal = (description: string, ...names: (keyof typeof HEADERS)[]) =>
  response(description, schema('Error'), ...names);

const OF_READS = {
  500: refusal('An error of the service. The log has the cause under the x-request-id.'),
  503: refusal('The database does not respond, or the service is overloaded. Nothing was stored.', 'retry-after'),
};

/** An operation that creates something. */
function creation(
  name: 'User' | 'Order',
  example: object,
  conflict: string,
  more: Omit<Operation, 'responses'>,
): Operation {
  return {
    ...more,
    parameters: [PARAMETERS.idempotencyKey],
    requestBody: { required: true, content: content(schema(`New${name}`), example) },
    responses: {
      201: response('It was created.', schema(name), 'idempotency-replayed'),
      400: refusal('The body or the key is invalid: each wrong field is named.'),
      409: refusal(conflict, 'retry-after'),
      413: refusal('The body is larger than 1 MiB.'),
      415: refusal('The body is not JSON in UTF-8.'),
      422: refusal('The Idempotency-Key was used for another request within the last 24 hours.'),
      500: OF_READS[500],
      503: refusal(
        'Nothing was stored, and a retry may succeed. Or, without `retry-after`, the connection to the database was lost at COMMIT, and the result is unknown.',
        'retry-after',
      ),
    },
  };
}

const status = (value: string) => Type.Object({ status: Type.Literal(value) });

/** Every operation of the API, as OpenAPI has it. The hosts' routes and the 405 responses are tested against it. */
export const PATHS: Readonly<Record<string, Readonly<{ get?: Operation; post?: Operation }>>> = {
  '/api/users': {
    get: {
      operationId: 'listUsers',
      tags: ['Users'],
      summary: 'List users',
      description:
        'All users, the oldest first. A long list is sent while it is read from the database: users created meanwhile are at its end.',
      parameters: [PARAMETERS.limit, PARAMETERS.after],
      responses: {
        200: response('The users.', Type.Array(Type.Unsafe<User>(schema('User')))),
        400: refusal('A parameter is invalid.'),
        ...OF_READS,
      },
    },
    post: creation(
      'User',
      { name: 'Ada Lovelace', email: 'ada@example.org' },
      'A request with the same key is running.',
      {
        operationId: 'createUser',
        tags: ['Users'],
        summary: 'Create a user',
        description:
          'Properties other than `name` and `email` are ignored. Several users may have the same name or address.',
      },
    ),
  },
  '/api/users/{id}': {
    get: {
      operationId: 'getUser',
      tags: ['Users'],
      summary: 'Get a user',
      parameters: [PARAMETERS.id],
      responses: {
        200: response('The user.', schema('User')),
        400: refusal('The path cannot be decoded.'),
        404: refusal('No user has this id.'),
        ...OF_READS,
      },
    },
  },
  '/api/orders': {
    post: creation(
      'Order',
      { items: [{ productId: 'apple', quantity: 3 }] },
      'There is not enough stock, and nothing was taken. Or a request with the same key is running.',
      {
        operationId: 'createOrder',
        tags: ['Orders'],
        summary: 'Place an order',
        description:
          'Stores the order and takes its items from stock in one transaction: both are committed, or both are rolled back. ' +
          'A product without a stock level can be ordered freely.',
      },
    ),
  },
  '/health/live': {
    get: {
      operationId: 'isLive',
      tags: ['Health'],
      summary: 'Is the process alive?',
      description: 'For a supervisor, which restarts a process that does not respond.',
      responses: { 200: response('It is.', status('live')) },
    },
  },
  '/health/ready': {
    get: {
      operationId: 'isReady',
      tags: ['Health'],
      summary: 'Should requests be sent here?',
      description: 'For a load balancer.',
      responses: { 200: response('Yes.', status('ready')), 503: refusal('No: the message says why.') },
    },
  },
};

export const INFO = {
  title: 'Users and orders',
  version,
  description:
    'Bodies are JSON in UTF-8. Every response has an `x-request-id`, and none may be cached. Every error response has the body ' +
    '`{ "error": string }`, also outside the operations listed here: 401 where the service checks its callers, 404 for an ' +
    'unknown address, 405 with `allow` for a method that an address does not support, 408 and 431 for requests that are too ' +
    'slow or too large. HEAD is supported wherever GET is.',
  license: { name: 'MIT', identifier: 'MIT' },
};

/** OpenAPI 3.1 as JSON, with the schemas that validate requests. */
export function openApiDocument(): string {
  const document = {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/', description: 'The service that serves this document.' }],
    paths: PATHS,
    components: { schemas: SCHEMAS, headers: HEADERS },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
