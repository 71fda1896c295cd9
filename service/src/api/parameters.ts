import { IdempotencyKey } from '../idempotency/idempotent-request.js';
import { Id } from '../ids.js';
import { Limit } from '../users/list-users.js';

/** What a request may carry besides its body. The page fills the examples in: what changes the answer has none. */
export const PARAMETERS = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of a user. Anything that is no UUID is the id of nobody.',
    schema: Id,
    example: '019a9f3e-7c1b-7d52-9c3b-2f6f1f0a4b11',
  },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'At most so many users; all of them when absent.',
    schema: Limit,
    example: 50,
  },
  after: {
    name: 'after',
    in: 'query',
    description: 'Only users behind the one with this id: with `limit`, the last of one page begins the next.',
    schema: Id,
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Any text that is new for new work. For 24 hours the same request with the same key gives the first answer again, ' +
      'and the work is done once, however often it is asked for.',
    schema: IdempotencyKey,
  },
} as const;

export type ParameterName = keyof typeof PARAMETERS;
