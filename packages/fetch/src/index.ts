export {
  type DrainRequestsOptions,
  HttpError,
  type HttpErrorCode,
  type RequestScopesOptions as RequestOptions,
  type RequestTransactionOptions as WithTransactionOptions,
} from '@ambit/http/host';
export {
  createHandler,
  errorResponse,
  type FetchHandler,
  type Handler,
  type HandlerOptions,
  type ParentScope,
  problemResponse,
  withTransaction,
} from './handler.js';
