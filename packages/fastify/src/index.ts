export { HttpError, type HttpErrorCode, type ProblemDetails, problemOf, type ProblemResponse } from '@ambit/http';
export {
  containerPlugin,
  type ContainerPluginOptions,
  requireTransactionScope,
  type RouteTransactionOptions,
  transactionPlugin,
  type TransactionPluginOptions,
} from './plugins.js';
