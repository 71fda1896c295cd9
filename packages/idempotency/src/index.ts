export { IdempotencyError, type IdempotencyProblem } from './error.js';
export {
  createIdempotency,
  type Idempotency,
  type IdempotencyOptions,
  type IdempotentResponse,
  type LockedRequest,
  type NewResponse,
  type RespondOptions,
} from './idempotency.js';
export type { IdempotencyHeader, IdempotentRequest } from './key.js';
export { idempotencySchema, type IdempotencyDialect, type IdempotencyTable } from './schema.js';
