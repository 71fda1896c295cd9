import { Type } from 'typebox';
import { Id } from '../ids.js';

/** The headers of answers that mean something to a client. */
export const ANSWER_HEADERS = {
  'x-request-id': {
    description: 'Names this request in the log of the service.',
    required: true,
    schema: Id,
    example: '6fa459ea-ee8a-4ca4-894e-db77e160355e',
  },
  'idempotency-replayed': {
    description: 'There when nothing was done: this is the answer to the first request with the same Idempotency-Key.',
    schema: Type.Literal('true'),
    example: 'true',
  },
  allow: {
    description: 'The methods that this address answers.',
    required: true,
    schema: Type.String(),
    example: 'GET, HEAD',
  },
  'retry-after': {
    description: 'There when the same request may well succeed after so many seconds.',
    schema: Type.Integer({ minimum: 1 }),
    example: 1,
  },
} as const;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;
