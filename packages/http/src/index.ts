export { createHandler, type HandlerOptions, type HttpListener } from './create-handler.js';
export { drain, type DrainOptions, type HttpServer } from './drain.js';
export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from './errors.js';
export type { HeldResponseOptions } from './held-response.js';
export type { LoadOptions } from './load.js';
export type { ParentScope, RequestOptions } from './request-options.js';
export { type Handler, requireTransactionScope, type ScopedRequest } from './request.js';
export { disposeOnSignal, type DisposeOnSignalOptions } from './shutdown.js';
export { withTransaction, type WithTransactionOptions } from './with-transaction.js';
