import { type TSchema, Type } from 'typebox';
import { ErrorBody } from '../http/response.js';
import { idOf } from '../ids.js';
import { NewOrder, Order } from '../orders/orders.js';
import { Limit, NewUser, User } from '../users/users.js';

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

/** By name: each value is valid, and a test sends each. */
type Examples = Readonly<Record<string, Example>>;

/** A refused request, and the message of its error. */
type Case = readonly [summary: string, error: string];

interface Content {
  readonly schema: TSchema;
  readonly examples: Examples;
}

export interface EndpointResponse extends Content {
  readonly description: string;
  /** In addition to x-request-id, which every response has. */
  readonly headers: readonly ResponseHeader[];
  /** By operation: its parameters, as OpenAPI's expressions over this response. */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** One operation of the API, with its request and all its responses except 401, which every operation has. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ParameterName[];
  readonly request?: Content;
  readonly responses: Readonly<Record<number, EndpointResponse>>;
}

function problem(
  description: string,
  cases: Readonly<Record<string, Case>>,
  headers: readonly ResponseHeader[] = [],
): EndpointResponse {
  const examples = Object.entries(cases).map(([name, [summary, error]]) => [name, { summary, value: { error } }]);
  return { description, headers, schema: ErrorBody, examples: Object.fromEntries(examples) };
}

const Live = Type.Object({ status: Type.Literal('live', { description: 'Always `live`.' }) });
const Ready = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('read-only')], {
    description: '`ready`, or `read-only` while the database takes no writes.',
  }),
});

const isLive: Endpoint = {
  method: 'GET',
  path: '/health/live',
  operationId: 'isLive',
  tag: 'Health',
  summary: 'Is the process alive?',
  description: 'For a supervisor, which restarts a process that does not respond.',
  parameters: [],
  responses: {
    200: {
      description: 'It is.',
      headers: [],
      schema: Live,
      examples: { live: { summary: 'Alive', value: { status: 'live' } } },
    },
  },
};

const isReady: Endpoint = {
  method: 'GET',
  path: '/health/ready',
  operationId: 'isReady',
  tag: 'Health',
  summary: 'Should requests be sent here?',
  description:
    'For a load balancer. Also checks whether the database can be written to, or at least read from a replica.',
  parameters: [],
  responses: {
    200: {
      description:
        'Yes. `read-only`: the database takes no writes, which get 503, and requests that only read come from a replica.',
      headers: [],
      schema: Ready,
      examples: {
        ready: { summary: 'Ready', value: { status: 'ready' } },
        readsOnly: { summary: 'Only a replica responds', value: { status: 'read-only' } },
      },
    },
    503: problem('Not at the moment.', {
      starting: ['It is starting', 'Not ready: starting'],
      draining: ['It is shutting down', 'Not ready: draining'],
      noResponse: ['The database does not respond', 'Not ready: no response from the database'],
      readOnly: ['The database refuses to write', 'Not ready: the database is read-only'],
      diskFull: ['The database has no space left', 'Not ready: the disk of the database is full'],
      storageFails: ['The files of the database cannot be used', 'Not ready: the storage of the database fails'],
      damaged: ['The database has found damage', 'Not ready: the database is damaged'],
    }),
  },
};

const healthEndpoints: readonly Endpoint[] = [isLive, isReady];

const TRY_AGAIN: Case = ['A retry may succeed', 'Service Unavailable: try again in a moment'];

/** The response of every operation to a caller whom `identify` refuses. */
export const CALLER_REFUSED = problem(
  '`identify` refused the caller, with a message of its own. Only a service that was started with that option sends this.',
  { unknownToken: ['A token that is not known', 'The token is not known'] },
  ['www-authenticate'],
);

/** The responses of any endpoint when the database is unavailable, or the service has a bug. */
export const FAILURES = {
  500: problem('An error of the service. The log has the cause under the x-request-id.', {
    ours: ['Any cause', 'Internal Server Error'],
  }),
  503: problem(
    'The database does not respond, or the service is overloaded. Nothing was stored.',
    { tryAgain: TRY_AGAIN },
    ['retry-after'],
  ),
};

const OUTCOME_UNKNOWN: Case = [
  'The connection was lost at COMMIT',
  'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same',
];

/** The errors of an endpoint that stores something. */
const FAILURES_OF_WORK = {
  ...FAILURES,
  503: problem(
    'Nothing was stored, and a retry may succeed. Or the connection to the database was lost at COMMIT, and the result is unknown.',
    { tryAgain: TRY_AGAIN, outcomeUnknown: OUTCOME_UNKNOWN },
    ['retry-after', 'set-cookie'],
  ),
};

/** The cases of 400 in which a body was not read. */
const UNREADABLE_BODY: Readonly<Record<string, Case>> = {
  absent: ['No body', 'A JSON body is required'],
  notJson: ['Not JSON', 'The body is not valid JSON'],
};

/** The responses to a body that is refused before it is parsed. */
export const REFUSALS_OF_BODY = {
  413: problem('The body is larger than 1 MiB.', { tooLarge: ['More than 1 MiB', 'The body is too large'] }),
  415: problem('The body is not JSON in UTF-8.', {
    noJson: ['Another content type', 'The body must be sent as application/json in UTF-8'],
    encoded: ['A compressed body', 'The body must be sent without Content-Encoding'],
  }),
};

export const KEY_USED = problem('The Idempotency-Key was used for another request within the last 24 hours.', {
  keyUsed: [
    'The same key, another body',
    'This Idempotency-Key was used for another request: take a new key for new work',
  ],
});

/** What a request with an Idempotency-Key gets when it comes again. */
export const KEY_RULES: readonly (readonly [comes: string, gets: string])[] = [
  [
    'The same request with the same key',
    'the first response, with the header `idempotency-replayed: true`. The work is done once.',
  ],
  ['While the first request is running', '`409` with `retry-after`.'],
  ['Another body with the same key', '`422`: new work needs a new key.'],
  ['After an error', 'as if it came for the first time: only a successful response is kept.'],
  ['After 24 hours', 'as if it came for the first time: the key is no longer kept.'],
];

/** As most clients send a key, and as the draft of the IETF has it: in double quotes. */
const KEY_PATTERN = '^(?:[!#-~][!-~]{0,254}|"(?:[ !#-\\[\\]-~]|\\\\["\\\\]){1,255}")$';

const BAD_KEY: Case = ['An invalid key', 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once'];
const KEY_IN_USE: Case = [
  'The first request with the key is running',
  'A request with this Idempotency-Key is still running: try again when it has finished',
];

const fruit = {
  items: [
    { productId: 'apple', quantity: 3 },
    { productId: 'pear', quantity: 1 },
  ],
};
const oneApple = { items: [{ productId: 'apple', quantity: 1 }] };
const TWO_PRODUCTS = 'Two products';
const ONE_PRODUCT = 'One product';
const placed = { id: '019a9f40-1e55-7c0e-8a43-97d1c2b3e4f5', createdAt: '2026-01-31T12:00:00.000Z' };

const createOrder: Endpoint = {
  method: 'POST',
  path: '/api/orders',
  operationId: 'createOrder',
  tag: 'Orders',
  summary: 'Place an order',
  description:
    'Stores the order and takes its items from stock in one transaction: both are committed, or both are rolled back. ' +
    'A product without a stock level can be ordered freely.',
  parameters: ['idempotencyKey'],
  request: {
    schema: NewOrder,
    examples: {
      fruit: { summary: TWO_PRODUCTS, value: fruit },
      oneApple: { summary: ONE_PRODUCT, value: oneApple },
    },
  },
  responses: {
    201: {
      description: 'The order, with its items in the same sequence as in the request.',
      headers: ['idempotency-replayed', 'set-cookie'],
      schema: Order,
      examples: {
        fruit: { summary: TWO_PRODUCTS, value: { ...placed, ...fruit } },
        oneApple: { summary: ONE_PRODUCT, value: { ...placed, ...oneApple } },
      },
    },
    400: problem('The body or the key is invalid.', {
      ...UNREADABLE_BODY,
      noItems: ['No item', 'body.items must not have fewer than 1 items'],
      badQuantity: ['A quantity of 0', 'body.items[0].quantity must be >= 1'],
      badKey: BAD_KEY,
    }),
    409: problem(
      'There is not enough stock, and nothing was taken. Or a request with the same key is running.',
      { notEnough: ['Too little stock', 'Not enough stock of "apple": 3 wanted, 2 left'], keyInUse: KEY_IN_USE },
      ['retry-after'],
    ),
    422: KEY_USED,
    ...REFUSALS_OF_BODY,
    ...FAILURES_OF_WORK,
  },
};

const orderEndpoints: readonly Endpoint[] = [createOrder];

const ADA = 'Ada Lovelace';
const GRACE = 'Grace Hopper';
const ada = { name: ADA, email: 'ada@example.org' };
const grace = { name: GRACE, email: 'grace@example.org' };
const storedAda = { id: '019a9f3e-7c1b-7d52-9c3b-2f6f1f0a4b11', ...ada };
const storedGrace = { id: '019a9f3e-8d07-7a34-b2de-5b8c6a1e9f02', ...grace };

const listUsers: Endpoint = {
  method: 'GET',
  path: '/api/users',
  operationId: 'listUsers',
  tag: 'Users',
  summary: 'List users',
  description:
    'All users, the oldest first. A long list is sent while it is read from the database: users created meanwhile are at its end.',
  parameters: ['limit', 'after', 'readAfter'],
  responses: {
    200: {
      description: 'The users.',
      headers: ['cache-status'],
      schema: Type.Array(User),
      examples: {
        two: { summary: 'Two users', value: [storedAda, storedGrace] },
        nobody: { summary: 'No users', value: [] },
      },
      links: { getUser: { id: '$response.body#/0/id' } },
    },
    400: problem('A parameter is invalid.', {
      badLimit: ['An invalid `limit`', 'query.limit must be a whole number from 1 to 1000, given once'],
      badAfter: ['`after` is not an id', 'query.after must be the id of a user, given once'],
    }),
    ...FAILURES,
  },
};

const getUser: Endpoint = {
  method: 'GET',
  path: '/api/users/{id}',
  operationId: 'getUser',
  tag: 'Users',
  summary: 'Get a user',
  description: 'One user, by id. `List users` and `Create a user` return ids.',
  parameters: ['id', 'readAfter'],
  responses: {
    200: {
      description: 'The user.',
      headers: ['cache-status'],
      schema: User,
      examples: { ada: { summary: 'A user', value: storedAda } },
    },
    400: problem('The path cannot be decoded.', {
      malformed: ['A percent sign that encodes nothing', 'The request is malformed'],
    }),
    404: problem('No user has this id.', { nobody: ['Unknown id', 'User not found'] }, ['cache-status']),
    ...FAILURES,
  },
};

const createUser: Endpoint = {
  method: 'POST',
  path: '/api/users',
  operationId: 'createUser',
  tag: 'Users',
  summary: 'Create a user',
  description: 'Properties other than `name` and `email` are ignored. Several users may have the same name or address.',
  parameters: ['idempotencyKey'],
  request: {
    schema: NewUser,
    examples: { ada: { summary: ADA, value: ada }, grace: { summary: GRACE, value: grace } },
  },
  responses: {
    201: {
      description: 'The created user.',
      headers: ['idempotency-replayed', 'set-cookie'],
      schema: User,
      examples: { ada: { summary: ADA, value: storedAda }, grace: { summary: GRACE, value: storedGrace } },
      links: { getUser: { id: '$response.body#/id' } },
    },
    400: problem('The body or the key is invalid.', {
      ...UNREADABLE_BODY,
      emptyName: ['An empty name', 'body.name must not have fewer than 1 characters'],
      noEmail: ['No email address', 'body must have required properties email'],
      badEmail: ['Not an email address', 'body.email must be an email address'],
      badKey: BAD_KEY,
    }),
    409: problem('A request with the same key is running.', { keyInUse: KEY_IN_USE }, ['retry-after']),
    422: KEY_USED,
    ...REFUSALS_OF_BODY,
    ...FAILURES_OF_WORK,
  },
};

const userEndpoints: readonly Endpoint[] = [createUser, listUsers, getUser];

/** Every operation of the API. The hosts' routes, the 405 responses and the document are tested against it. */
export const API_ENDPOINTS: readonly Endpoint[] = [...userEndpoints, ...orderEndpoints, ...healthEndpoints];

/** The response headers that a client may use. */
export const RESPONSE_HEADERS = {
  'x-request-id': {
    description: 'Identifies this request in the log of the service.',
    required: true,
    schema: idOf('A UUID.'),
    example: '6fa459ea-ee8a-4ca4-894e-db77e160355e',
  },
  'idempotency-replayed': {
    description:
      'Present when the work was done before: this is the response to the first request with the same Idempotency-Key.',
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
      'Present when the response was read from a replica of the database (RFC 9211). With `detail=primary-unavailable` the primary ' +
      'cannot be reached, and the latest writes may be missing.',
    schema: Type.Union([Type.Literal('replica; hit'), Type.Literal('replica; hit; detail=primary-unavailable')]),
    example: 'replica; hit',
  },
  'set-cookie': {
    description:
      'Present where the service reads from replicas: `read-after` says how far the client has written. With this cookie, the ' +
      'client reads its own write wherever it reads next.',
    schema: Type.String(),
    example: 'read-after=0/3A12F08; Path=/; Max-Age=60; HttpOnly; SameSite=Lax',
  },
  'retry-after': {
    description: 'Present when a retry of the same request may succeed after this many seconds.',
    schema: Type.Integer({ minimum: 1 }),
    example: 1,
  },
} as const;

type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/**
 * The parameters of requests. The reference page fills in the examples, so a parameter that changes the result has none, nor has an
 * id, which only the service can make.
 */
export const PARAMETERS = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of a user, as `List users` and `Create a user` return it.',
    schema: idOf('A UUID.'),
  },
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
} as const;

export type ParameterName = keyof typeof PARAMETERS;
