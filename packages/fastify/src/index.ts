export { containerPlugin, type ContainerPluginOptions } from './container-plugin.js';
export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from './errors.js';
export { requireTransactionScope } from './request.js';
export { transactionPlugin, type TransactionPluginOptions } from './transaction-plugin.js';
