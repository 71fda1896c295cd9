export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode, type ParentScope, type RequestOptions } from '@ambit/host';
export { createHandler, type HandlerOptions, type HttpListener } from './handler.js';
export { drain, type DrainOptions, type HttpServer } from './shutdown.js';
export type { HeldResponseOptions } from './response-gate.js';
export type { LoadOptions } from './connection.js';
export { type Handler, requireTransactionScope, type ScopedRequest } from './handler.js';
export { disposeOnSignal, type DisposeOnSignalOptions } from './shutdown.js';
export { withTransaction, type WithTransactionOptions } from './with-transaction.js';
