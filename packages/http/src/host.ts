/** What the authors of hosts need: the core that `@ambit/express`, `@ambit/fastify` and `createHandler()` are built on. */
export {
  checkContainer,
  checkFunctions,
  checkTimes,
  checkTransactionOptions,
  clearRepresentation,
  HttpError,
  type HttpErrorCode,
  invalidOption,
  isAfterDisconnect,
  isDisconnect,
  isKnownBefore,
  isServerError,
  type ParentScope,
  report,
  type RequestOptions,
  RequestTransaction,
  type RequestTransactionOptions,
  type RequestTransactionTerms,
  termsOf,
} from '@ambit/host';
export { closeUnlessEnded, type HeldResponseOptions } from './response-gate.js';
export { Connections, Load, type LoadOptions } from './connection.js';
export { beginTransaction, HeldResponse } from './with-transaction.js';
export {
  ConnectedRequest,
  CurrentScope,
  type OpenerOptions,
  type RequestHost,
  scopeOpener,
  type ScopeOpener,
} from './connected-request.js';
export { type TimeLimit, within } from './shutdown.js';
