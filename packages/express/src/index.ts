export { disposeOnSignal, type DisposeOnSignalOptions, drain, type DrainOptions } from '@ambit/http';
export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from '@ambit/http';
export { containerMiddleware, type ContainerMiddlewareOptions } from './container-middleware.js';
export { type ExpressRequest, type Middleware, requireTransactionScope } from './request.js';
export { resolve, withDeps, type Deps, type Services } from './services.js';
export { rollbackOnError, withTransaction, type WithTransactionOptions } from './with-transaction.js';
