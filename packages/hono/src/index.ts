export { HttpError, type HttpErrorCode } from '@ambit/host';
export {
  containerMiddleware,
  type ContainerMiddleware,
  type ContainerMiddlewareOptions,
  requireTransactionScope,
  withTransaction,
  type WithTransactionOptions,
} from './middleware.js';
