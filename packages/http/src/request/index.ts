/** For authors of hosts, whatever the runtime: nothing here uses a module of Node. */
export {
  ActiveRequest,
  type DrainRequestsOptions,
  type RequestClient,
  RequestScopes,
  type RequestScopesOptions,
} from './active-request.js';
export {
  type ErrorStatus,
  HTTP_ERROR_CODES,
  HttpError,
  type HttpErrorCode,
  isAfterDisconnect,
  isDisconnect,
  type ProblemDetails,
  problemOf,
  type ProblemResponse,
  report,
  reported,
  type Reporter,
  responseTo,
} from './errors.js';
export {
  checkContainer,
  checkCount,
  checkFunctions,
  checkTimes,
  invalidOption,
  type ParentScope,
  type RequestOptions,
} from './options.js';
export { settleWithin, startTimer, type TimeLimit } from './time-limit.js';
export {
  hasUnreadBody,
  clearRepresentation,
  followTrailers,
  RequestTransaction,
  type RequestTransactionOptions,
  type PreparedTransactionOptions,
  prepareTransactionOptions,
  transactionScopeOf,
} from './transaction.js';
