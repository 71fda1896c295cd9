export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from '@ambit/host';
export { createHandler, errorResponse, type FetchHandler, type Handler, type HandlerOptions } from './handler.js';
export type { DrainOptions, ParentScope, RequestOptions } from './request-scopes.js';
export { withTransaction, type WithTransactionOptions } from './with-transaction.js';
