/** Every code with its message. */
const MESSAGES = {
  AMBIT_HTTP_CLIENT_GONE: 'The client closed the connection before it had its answer',
  AMBIT_HTTP_DISPOSE_TIMEOUT:
    'The application container was not disposed in time, so the process exits with code 1. Look for a disposer that waits for something that does not come, or raise disposeTimeoutMs',
  AMBIT_HTTP_FAILURES_UNSEEN:
    'The transaction was rolled back, because its response came from where withTransaction() cannot see whether a handler failed: a router or an application of another copy of Express, a callback that was passed to a router, or param() of a router behind the last handler. Mount withTransaction() on the route that responds, and pass on the `next` of Express to routers that you call by a function',
  AMBIT_HTTP_HEAD_SENT:
    'The response has begun before withTransaction(), so it cannot wait for COMMIT. Call res.write() and res.flushHeaders() behind withTransaction() only',
  AMBIT_HTTP_NO_REQUEST_SCOPE: 'The request has no scope. Mount containerMiddleware(appContainer) first',
  AMBIT_HTTP_NO_TRANSACTION:
    'The request has no transaction. Mount withTransaction() on the route, before this handler',
  AMBIT_HTTP_OPTION: 'An option is invalid',
  AMBIT_HTTP_OVERLOADED:
    'The application has as many requests in progress as maxRequests allows, so this one was refused. A retry may succeed',
  AMBIT_HTTP_SECOND_ANSWER:
    'This response was dropped, because another one came first, or because it reports success though the transaction was rolled back',
  AMBIT_HTTP_TRANSACTION_STARTED:
    'This request has a transaction already. Mount withTransaction() once on the way to a handler, or use runInTransaction() for a nested part',
} as const;

export type HttpErrorCode = keyof typeof MESSAGES;

export const HTTP_ERROR_CODES = Object.keys(MESSAGES) as readonly HttpErrorCode[];

/**
 * What the middleware refuses or reports, with a code to tell it by.
 *
 * @example
 * ```ts
 * const isLateAnswer = (error: unknown): boolean =>
 *   error instanceof HttpError && error.code === 'AMBIT_HTTP_SECOND_ANSWER';
 * ```
 */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code: HttpErrorCode;
  /** What Express answers where the application has no error handler. */
  readonly status: 500 | 503;
  /** The same, under the other name that error handlers look for. */
  readonly statusCode: 500 | 503;
  /** Temporary; a retry may succeed. */
  readonly unavailable: boolean;

  constructor(code: HttpErrorCode, detail?: string) {
    super(`${MESSAGES[code]}${detail === undefined ? '' : `: ${detail}`} [${code}]`);
    this.code = code;
    this.unavailable = code === 'AMBIT_HTTP_OVERLOADED';
    this.status = this.statusCode = this.unavailable ? 503 : 500;
  }
}
