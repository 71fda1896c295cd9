export {
  HttpError,
  type HttpErrorCode,
  type ParentScope,
  type ProblemDetails,
  problemOf,
  type ProblemResponse,
  type RequestOptions,
} from './request/index.js';
export {
  createHandler,
  type HandlerOptions,
  type HttpListener,
  withTransaction,
  type WithTransactionOptions,
} from './handler.js';
export { drain, type DrainOptions, type HttpServer } from './shutdown.js';
export type { HeldResponseOptions } from './held-response.js';
export type { LoadOptions } from './request-host.js';
export { type Handler, requireTransactionScope, type ScopedRequest } from './handler.js';
export { disposeOnSignal, type DisposeOnSignalOptions } from './shutdown.js';
