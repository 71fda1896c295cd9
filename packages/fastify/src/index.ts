export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from '@ambit/http';
export { containerPlugin, type ContainerPluginOptions } from './container-plugin.js';
export {
  requireTransactionScope,
  type RouteTransactionOptions,
  transactionPlugin,
  type TransactionPluginOptions,
} from './transaction-plugin.js';
