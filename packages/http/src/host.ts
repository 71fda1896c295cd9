/** For authors of hosts: the core that `@ambit/express`, `@ambit/fastify` and `createHandler()` are built on. */
export {
  checkContainer,
  checkFunctions,
  checkTimes,
  clearRepresentation,
  type ErrorStatus,
  HTTP_ERROR_CODES,
  HttpError,
  type HttpErrorCode,
  invalidOption,
  isAfterDisconnect,
  isDisconnect,
  type ParentScope,
  report,
  type RequestOptions,
  RequestTransaction,
  type RequestTransactionOptions,
  type PreparedTransactionOptions,
  responseTo,
  prepareTransactionOptions,
  settleWithin,
  type TimeLimit,
  transactionScopeOf,
} from '@ambit/host';
export { closeUnlessEnded } from './response-gate.js';
export { ServerConnections } from './server-connections.js';
export { beginTransaction, type ErrorHandlers, HeldResponse, type HeldResponseOptions } from './held-response.js';
export { ConnectedRequest } from './connection.js';
export { affordableRequests, type LoadOptions, RequestHost, type RequestHostOptions } from './request-host.js';
