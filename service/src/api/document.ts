import { createRequire } from 'node:module';
import { type TSchema, Type } from 'typebox';
import { ErrorBody } from '../http/response.js';
import { idOf } from '../ids.js';
import { NewOrder, Order, OrderItem } from '../orders/orders.js';
import { Limit, NewUser, User } from '../users/users.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };

/** By name: each value is valid, and a test sends or causes each. */
type Examples = Readonly<Record<string, unknown>>;

interface Content {
  readonly 'application/json': {
    readonly schema: TSchema;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}

interface Described {
  readonly description: string;
  readonly headers: Readonly<Record<string, object>>;
  readonly content: Content;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly description: string;
  readonly schema: TSchema;
  readonly example?: string | number;
}

/** One operation of the API, as OpenAPI has it, with its address. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly operationId: string;
  readonly tag: 'Users' | 'Orders' | 'Health';
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly request?: Content;
  readonly responses: Readonly<Record<number, Described>>;
}

/** The response headers that a client may use. */
export const HEADERS = {
  'x-request-id': {
    description: 'Identifies this request in the log of the service.',
    required: true,
    schema: idOf('A UUID.'),
    example: '6fa459ea-ee8a-4ca4-894e-db77e160355e',
  },
  'idempotency-replayed': {
    description: 'Present when the work was done before: this is the response to the first request with the same key.',
    schema: Type.Literal('true'),
    example: 'true',
  },
  'www-authenticate': {
    description: 'How to authenticate, as far as `identify` says so.',
    schema: Type.String(),
    example: 'Bearer',
  },
  'cache-status': {
    description:
      'Present when the response was read from a replica of the database (RFC 9211). With `detail=primary-unavailable` ' +
      'the primary cannot be reached, and the latest writes may be missing.',
    schema: Type.Union([Type.Literal('replica; hit'), Type.Literal('replica; hit; detail=primary-unavailable')]),
    example: 'replica; hit',
  },
  'set-cookie': {
    description:
      'Present where the service reads from replicas: `read-after` says how far the client has written. With this ' +
      'cookie, the client reads its own write wherever it reads next.',
    schema: Type.String(),
    example: 'read-after=0/3A12F08; Path=/; Max-Age=60; HttpOnly; SameSite=Lax',
  },
  'retry-after': {
    description: 'Present when a retry of the same request may succeed after this many seconds.',
    schema: Type.Integer({ minimum: 1 }),
    example: 1,
  },
};

/** As most clients send a key, and as the draft of the IETF has it: in double quotes. */
const KEY_PATTERN = '^(?:[!#-~][!-~]{0,254}|"(?:[ !#-\\[\\]-~]|\\\\["\\\\]){1,255}")$';

const PARAMETERS = {
  id: { name: 'id', in: 'path', required: true, description: 'The id of a user.', schema: idOf('A UUID.') },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of users; all users when absent.',
    schema: Limit,
    example: 50,
  },
  after: {
    name: 'after',
    in: 'query',
    description:
      'Only users after the one with this id: with `limit`, pass the id of the last user of the page before.',
    schema: idOf('A UUID.'),
  },
  readAfter: {
    name: 'read-after',
    in: 'cookie',
    description: 'The cookie that the last write set: what is read is at least as new as that write.',
    schema: Type.String({ description: 'A position in the log of the database.' }),
    example: '0/3A12F08',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A text that is unique for each piece of work. For 24 hours the same request with the same key gets the first ' +
      'response again, and the work is done once, however often the request is sent.',
    schema: Type.String({ pattern: KEY_PATTERN }),
  },
} satisfies Readonly<Record<string, Parameter>>;

function content(schema: TSchema, examples: Examples): Content {
  const values = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { 'application/json': { schema, examples: Object.fromEntries(values) } };
}

function response(
  description: string,
  schema: TSchema,
  examples: Examples,
  ...headers: (keyof typeof HEADERS)[]
): Described {
  const sent = ['x-request-id' as const, ...headers].map((name) => [name, HEADERS[name]]);
  return { description, headers: Object.fromEntries(sent), content: content(schema, examples) };
}

/** A refusal, whose examples are its messages. */
function problem(
  description: string,
  messages: Readonly<Record<string, string>>,
  ...headers: (keyof typeof HEADERS)[]
): Described {
  const bodies = Object.entries(messages).map(([name, error]) => [name, { error }]);
  return response(description, ErrorBody, Object.fromEntries(bodies), ...headers);
}

const TRY_AGAIN = 'Service Unavailable: try again in a moment';
const UNKNOWN = 'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same';
const KEY_IN_USE = 'A request with this Idempotency-Key is still running: try again when it has finished';

/** Responses that several operations have. */
const RESPONSES = {
  CallerRefused: problem(
    '`identify` refused the caller, with a message of its own. Only a service that was started with that option sends this.',
    { unknownToken: 'The token is not known' },
    'www-authenticate',
  ),
  BodyTooLarge: problem('The body is larger than 1 MiB.', { tooLarge: 'The body is too large' }),
  BodyNotJson: problem('The body is not JSON in UTF-8.', {
    noJson: 'The body must be sent as application/json in UTF-8',
    encoded: 'The body must be sent without Content-Encoding',
  }),
  KeyUsed: problem('The Idempotency-Key was used for another request within the last 24 hours.', {
    keyUsed: 'This Idempotency-Key was used for another request: take a new key for new work',
  }),
  ServiceFailed: problem('An error of the service. The log has the cause under the x-request-id.', {
    ours: 'Internal Server Error',
  }),
  Unavailable: problem(
    'The database does not respond, or the service is overloaded. Nothing was stored.',
    { tryAgain: TRY_AGAIN },
    'retry-after',
  ),
  UnavailableOrUnknown: problem(
    'Nothing was stored, and a retry may succeed. Or the connection to the database was lost at COMMIT, and the result is unknown.',
    { tryAgain: TRY_AGAIN, outcomeUnknown: UNKNOWN },
    'retry-after',
    'set-cookie',
  ),
};

const OF_READS = { 500: RESPONSES.ServiceFailed, 503: RESPONSES.Unavailable };
const OF_WRITES = {
  413: RESPONSES.BodyTooLarge,
  415: RESPONSES.BodyNotJson,
  422: RESPONSES.KeyUsed,
  500: RESPONSES.ServiceFailed,
  503: RESPONSES.UnavailableOrUnknown,
};

const BAD_INPUT = 'The body or the key is invalid.';
const UNREADABLE = {
  absent: 'A JSON body is required',
  notJson: 'The body is not valid JSON',
  badKey: 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once',
};

const ada = { name: 'Ada Lovelace', email: 'ada@example.org' };
const grace = { name: 'Grace Hopper', email: 'grace@example.org' };
const storedAda = { id: '019a9f3e-7c1b-7d52-9c3b-2f6f1f0a4b11', ...ada };
const storedGrace = { id: '019a9f3e-8d07-7a34-b2de-5b8c6a1e9f02', ...grace };
const fruit = { items: ['apple', 'pear'].map((productId, index) => ({ productId, quantity: 3 - 2 * index })) };
const placed = { id: '019a9f40-1e55-7c0e-8a43-97d1c2b3e4f5', createdAt: '2026-01-31T12:00:00.000Z' };

const Live = Type.Object({ status: Type.Literal('live', { description: 'Always `live`.' }) });
const Ready = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('read-only')], {
    description: '`ready`, or `read-only` while the database takes no writes.',
  }),
});

/** Every operation of the API. The hosts' routes, the 405 responses and the document are tested against it. */
export const API_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/api/users',
    operationId: 'createUser',
    tag: 'Users',
    summary: 'Create a user',
    description:
      'Properties other than `name` and `email` are ignored. Several users may have the same name or address.',
    parameters: [PARAMETERS.idempotencyKey],
    request: content(NewUser, { ada, grace }),
    responses: {
      201: response(
        'The created user.',
        User,
        { ada: storedAda, grace: storedGrace },
        'idempotency-replayed',
        'set-cookie',
      ),
      400: problem(BAD_INPUT, {
        ...UNREADABLE,
        emptyName: 'body.name must not have fewer than 1 characters',
        noEmail: 'body must have required properties email',
        badEmail: 'body.email must be an email address',
      }),
      409: problem('A request with the same key is running.', { keyInUse: KEY_IN_USE }, 'retry-after'),
      ...OF_WRITES,
    },
  },
  {
    method: 'GET',
    path: '/api/users',
    operationId: 'listUsers',
    tag: 'Users',
    summary: 'List users',
    description:
      'All users, the oldest first. A long list is sent while it is read from the database: users created meanwhile are at its end.',
    parameters: [PARAMETERS.limit, PARAMETERS.after, PARAMETERS.readAfter],
    responses: {
      200: response('The users.', Type.Array(User), { two: [storedAda, storedGrace], nobody: [] }, 'cache-status'),
      400: problem('A parameter is invalid.', {
        badLimit: 'query.limit must be a whole number from 1 to 1000, given once',
        badAfter: 'query.after must be the id of a user, given once',
      }),
      ...OF_READS,
    },
  },
  {
    method: 'GET',
    path: '/api/users/{id}',
    operationId: 'getUser',
    tag: 'Users',
    summary: 'Get a user',
    description: 'One user, by id. `List users` and `Create a user` return ids.',
    parameters: [PARAMETERS.id, PARAMETERS.readAfter],
    responses: {
      200: response('The user.', User, { ada: storedAda }, 'cache-status'),
      400: problem('The path cannot be decoded.', { malformed: 'The request is malformed' }),
      404: problem('No user has this id.', { nobody: 'User not found' }, 'cache-status'),
      ...OF_READS,
    },
  },
  {
    method: 'POST',
    path: '/api/orders',
    operationId: 'createOrder',
    tag: 'Orders',
    summary: 'Place an order',
    description:
      'Stores the order and takes its items from stock in one transaction: both are committed, or both are rolled back. ' +
      'A product without a stock level can be ordered freely.',
    parameters: [PARAMETERS.idempotencyKey],
    request: content(NewOrder, { fruit }),
    responses: {
      201: response(
        'The order, with its items in the same sequence as in the request.',
        Order,
        { fruit: { ...placed, ...fruit } },
        'idempotency-replayed',
        'set-cookie',
      ),
      400: problem(BAD_INPUT, {
        ...UNREADABLE,
        noItems: 'body.items must not have fewer than 1 items',
        badQuantity: 'body.items[0].quantity must be >= 1',
      }),
      409: problem(
        'There is not enough stock, and nothing was taken. Or a request with the same key is running.',
        { notEnough: 'Not enough stock of "apple": 3 wanted, 2 left', keyInUse: KEY_IN_USE },
        'retry-after',
      ),
      ...OF_WRITES,
    },
  },
  {
    method: 'GET',
    path: '/health/live',
    operationId: 'isLive',
    tag: 'Health',
    summary: 'Is the process alive?',
    description: 'For a supervisor, which restarts a process that does not respond.',
    parameters: [],
    responses: { 200: response('It is.', Live, { live: { status: 'live' } }) },
  },
  {
    method: 'GET',
    path: '/health/ready',
    operationId: 'isReady',
    tag: 'Health',
    summary: 'Should requests be sent here?',
    description:
      'For a load balancer. Also checks whether the database can be written to, or at least read from a replica.',
    parameters: [],
    responses: {
      200: response(
        'Yes. `read-only`: the database takes no writes, which get 503, and requests that only read come from a replica.',
        Ready,
        { ready: { status: 'ready' }, readsOnly: { status: 'read-only' } },
      ),
      503: problem('Not at the moment.', {
        starting: 'Not ready: starting',
        draining: 'Not ready: draining',
        noResponse: 'Not ready: no response from the database',
        readOnly: 'Not ready: the database is read-only',
        diskFull: 'Not ready: the disk of the database is full',
        storageFails: 'Not ready: the storage of the database fails',
        damaged: 'Not ready: the database is damaged',
      }),
    },
  },
].map((endpoint) => ({
  ...(endpoint as Endpoint),
  responses: { ...endpoint.responses, 401: RESPONSES.CallerRefused },
}));

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

/** OpenAPI 3.1 as JSON, generated from the schemas that validate requests. */
export function openApiDocument(): string {
  const components = {
    schemas: { User, NewUser, Order, NewOrder, OrderItem, Error: ErrorBody },
    responses: RESPONSES,
    parameters: PARAMETERS,
    headers: HEADERS,
  };
  const references = new Map<unknown, object>();
  for (const [kind, parts] of Object.entries(components))
    for (const [name, part] of Object.entries(parts)) references.set(part, { $ref: `#/components/${kind}/${name}` });
  /** A component itself is a copy, which is no reference. */
  const copied = Object.entries(components).map(([kind, parts]) => [
    kind,
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, { ...part }])),
  ]);
  const paths: Record<string, object> = {};
  for (const { method, path, tag, request, parameters, ...operation } of API_ENDPOINTS) {
    const requestBody = request && { required: true, content: request };
    const input = { tags: [tag], requestBody, parameters: parameters.length > 0 ? parameters : undefined };
    paths[path] = { ...paths[path], [method.toLowerCase()]: { ...operation, ...input } };
  }
  const document = {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/', description: 'The service that serves this document.' }],
    // Nothing is required: only a program that sets `identify` checks callers, in a way of its own.
    security: [],
    tags: [
      { name: 'Users', description: 'The customers.' },
      { name: 'Orders', description: 'Orders, whose items are taken from stock.' },
      { name: 'Health', description: 'Health checks for load balancers and supervisors.' },
    ],
    paths,
    components: Object.fromEntries(copied),
  };
  return `${JSON.stringify(document, (_, part: unknown) => references.get(part) ?? part, 2)}\n`;
}
