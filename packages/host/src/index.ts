/** What the authors of hosts need, whatever the runtime: `@ambit/http`, `@ambit/fetch` and all hosts on them are built on it. */
export { isAfterDisconnect, isDisconnect } from './disconnect.js';
export { HTTP_ERROR_CODES, HttpError, type HttpErrorCode } from './errors.js';
export { checkContainer, checkCount, checkFunctions, checkTimes, invalidOption } from './options.js';
export { report, reported, type Reporter } from './report.js';
export {
  checkParent,
  checkRequestOptions,
  checkReturnedParent,
  type ParentScope,
  type RequestOptions,
} from './request-options.js';
export { isKnownBefore, isServerError } from './response-status.js';
