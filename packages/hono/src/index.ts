export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from '@ambit/host';
export {
  containerMiddleware,
  type ContainerMiddleware,
  type ContainerMiddlewareOptions,
  requireTransactionScope,
  withTransaction,
  type WithTransactionOptions,
} from './middleware.js';
