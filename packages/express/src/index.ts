export { disposeOnSignal, type DisposeOnSignalOptions, drain, type DrainOptions } from '@ambit/http';
export { HttpError, type HttpErrorCode, type ProblemDetails, problemOf, type ProblemResponse } from '@ambit/http';
export {
  containerMiddleware,
  type ContainerMiddlewareOptions,
  type Deps,
  type ExpressRequest,
  type Middleware,
  requireTransactionScope,
  resolve,
  type Services,
  withDeps,
  withTransaction,
  type WithTransactionOptions,
} from './middleware.js';
