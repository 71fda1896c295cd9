// For integrations of other frameworks: what createHandler() and withTransaction() are made of.
export { ActiveRequest, type RequestClient, type RequestObserver } from './active-request.js';
export { HttpError } from '@ambit/host';
export type { DrainOptions } from './open-requests.js';
export type { ParentScope, RequestOptions } from './request-scopes.js';
export { RequestScopes } from './request-scopes.js';
export { checkTransactionOptions, RequestTransaction, type WithTransactionOptions } from './request-transaction.js';
export { discard, finishWithBody, responseToNobody } from './response-body.js';
