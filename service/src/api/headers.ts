import { Type } from 'typebox';
import { idOf } from '../ids.js';

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
  'retry-after': {
    description: 'Present when a retry of the same request may succeed after this many seconds.',
    schema: Type.Integer({ minimum: 1 }),
    example: 1,
  },
} as const;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;
