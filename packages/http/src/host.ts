/** What the authors of hosts need: the core that `@ambit/express`, `@ambit/fastify` and `createHandler()` are built on. */
export {
  checkContainer,
  checkFunctions,
  checkTimes,
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
} from '@ambit/host';
export { ActiveRequest } from './active-request.js';
export { beginTransaction } from './with-transaction.js';
export { Connections } from './connections.js';
export { closeUnlessEnded } from './error-response.js';
export { clearRepresentation } from './head.js';
export type { HeldResponseOptions } from './response-gate.js';
export { Load, type LoadOptions } from './load.js';
export type { RequestHost } from './request.js';
export { RequestTransaction } from './request-transaction.js';
export { type OpenerOptions, scopeOpener, type ScopelessRequest, type ScopeOpener } from './scope-opener.js';
export { CurrentScope } from './current-scope.js';
export { type TimeLimit, within } from './timers.js';
