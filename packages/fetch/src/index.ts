export { errorResponse } from './handler.js';
export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from '@ambit/host';
export { createHandler, type FetchHandler, type Handler, type HandlerOptions } from './handler.js';
export type { DrainOptions } from './open-requests.js';
export type { ParentScope, RequestOptions } from './request-scopes.js';
export type { WithTransactionOptions } from './request-transaction.js';
export { withTransaction } from './with-transaction.js';
