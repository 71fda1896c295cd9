export { containerMiddleware, type ContainerMiddlewareOptions } from './container-middleware.js';
export { drain, type DrainOptions } from './drain.js';
export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from './errors.js';
export { rollbackOnError } from './failure.js';
export { type ExpressRequest, requireTransactionScope } from './request.js';
export { resolve, withDeps, type Deps, type Services } from './services.js';
export { disposeOnSignal, type DisposeOnSignalOptions } from './signals.js';
export { withTransaction, type WithTransactionOptions } from './with-transaction.js';
