// For integrations of other frameworks: what createHandler() and withTransaction() are made of.
export { HttpError } from '@ambit/host';
export {
  ActiveRequest,
  type DrainOptions,
  type ParentScope,
  type RequestClient,
  type RequestObserver,
  type RequestOptions,
  RequestScopes,
} from './request-scopes.js';
export { discard, finishWithBody, responseToNobody } from './response-body.js';
export { checkTransactionOptions, RequestTransaction, type WithTransactionOptions } from './with-transaction.js';
