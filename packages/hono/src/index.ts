export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from '@ambit/host';
export {
  containerMiddleware,
  type ContainerMiddleware,
  type ContainerMiddlewareOptions,
} from './container-middleware.js';
export { requireTransactionScope } from './context.js';
export { withTransaction, type WithTransactionOptions } from './with-transaction.js';
