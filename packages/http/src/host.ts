/** What the authors of hosts need: the core that `@ambit/express`, `@ambit/fastify` and `createHandler()` are built on. */
export {
  checkContainer,
  checkFunctions,
  checkTimes,
  clearRepresentation,
  type ErrorStatus,
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
  type RequestTransactionTerms,
  responseTo,
  termsOf,
  transactionScopeOf,
} from '@ambit/host';
export { closeUnlessEnded } from './response-gate.js';
export { Connections } from './connections.js';
export { beginTransaction, type ErrorHandlers, HeldResponse, type HeldResponseOptions } from './held-response.js';
export {
  affordableRequests,
  ConnectedRequest,
  type LoadOptions,
  RequestHost,
  type RequestHostOptions,
} from './connection.js';
export { type TimeLimit, within } from './shutdown.js';
