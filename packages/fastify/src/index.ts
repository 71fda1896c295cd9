export { HttpError, type HttpErrorCode } from '@ambit/http';
export {
  containerPlugin,
  type ContainerPluginOptions,
  requireTransactionScope,
  type RouteTransactionOptions,
  transactionPlugin,
  type TransactionPluginOptions,
} from './plugins.js';
