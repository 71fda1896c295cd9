export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from '@ambit/http';
export { containerPlugin, type ContainerPluginOptions } from './container-plugin.js';
export { requireTransactionScope } from './request.js';
export type { RouteTransactionOptions, TransactionPluginOptions } from './request.js';
export { transactionPlugin } from './transaction-plugin.js';
