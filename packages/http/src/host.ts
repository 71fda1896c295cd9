/** What the authors of hosts need: the core that `@ambit/express`, `@ambit/fastify` and `createHandler()` are built on. */
export { ActiveRequest } from './active-request.js';
export { beginTransaction } from './with-transaction.js';
export { Connections } from './connections.js';
export { HttpError, type HttpErrorCode } from './errors.js';
export { clearRepresentation } from './head.js';
export { type HeldResponseOptions, isServerError } from './held-response.js';
export { Load, type LoadOptions } from './load.js';
export { checkContainer, checkFunctions, checkTimes, invalidOption } from './options.js';
export { report } from './report.js';
export type { RequestHost } from './request-host.js';
export { RequestTransaction } from './request-transaction.js';
export type { ParentScope, RequestOptions } from './request-options.js';
export { type OpenerOptions, scopeOpener, type ScopelessRequest, type ScopeOpener } from './scope-opener.js';
export { CurrentScope } from './current-scope.js';
export { type TimeLimit, within } from './timers.js';
