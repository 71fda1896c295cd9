export { HttpError, type HttpErrorCode } from '@ambit/http/host';
export {
  containerMiddleware,
  type ContainerMiddleware,
  type ContainerMiddlewareOptions,
  requireTransactionScope,
  withTransaction,
  type WithTransactionOptions,
} from './middleware.js';
