export {
  type DrainRequestsOptions,
  HttpError,
  type HttpErrorCode,
  type RequestScopesOptions as RequestOptions,
  type RequestTransactionOptions as WithTransactionOptions,
} from '@ambit/host';
export {
  createHandler,
  errorResponse,
  type FetchHandler,
  type Handler,
  type HandlerOptions,
  type ParentScope,
  withTransaction,
} from './handler.js';
