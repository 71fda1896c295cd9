import { Type } from 'typebox';
import { NewUser, User } from '../users/user.js';
import { type Endpoint, problem } from './endpoint.js';
import {
  BAD_KEY,
  FAILURES,
  FAILURES_OF_WORK,
  KEY_IN_USE,
  KEY_USED,
  REFUSALS_OF_BODY,
  UNREADABLE_BODY,
} from './problems.js';

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
  parameters: ['limit', 'after'],
  responses: {
    200: {
      description: 'The users.',
      headers: [],
      schema: Type.Array(User),
      examples: {
        nobody: { summary: 'No users', value: [] },
        two: { summary: 'Two users', value: [storedAda, storedGrace] },
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
  parameters: ['id'],
  responses: {
    200: {
      description: 'The user.',
      headers: [],
      schema: User,
      examples: { ada: { summary: 'A user', value: storedAda } },
    },
    400: problem('The path cannot be decoded.', {
      malformed: ['A percent sign that encodes nothing', 'The request is malformed'],
    }),
    404: problem('No user has this id.', { nobody: ['Unknown id', 'User not found'] }),
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
      headers: ['idempotency-replayed'],
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

export const userEndpoints: readonly Endpoint[] = [listUsers, createUser, getUser];
