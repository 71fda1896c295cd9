import { IdempotencyKey } from '../idempotency/idempotent-request.js';
import { idOf } from '../ids.js';
import { Limit } from '../users/list-users.js';

/** The parameters of requests. The reference page fills in the examples, so a parameter that changes the result has none, nor has an id, which only the service can make. */
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
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A text that is unique for each piece of work. For 24 hours the same request with the same key gets the first ' +
      'response again, and the work is done once, however often the request is sent.',
    schema: IdempotencyKey,
  },
} as const;

export type ParameterName = keyof typeof PARAMETERS;
