export { HttpError, type HttpErrorCode, type ProblemDetails, problemOf, type ProblemResponse } from '@ambit/http/host';
export {
  containerMiddleware,
  type ContainerMiddleware,
  type ContainerMiddlewareOptions,
  requireTransactionScope,
  withTransaction,
  type WithTransactionOptions,
} from './middleware.js';
