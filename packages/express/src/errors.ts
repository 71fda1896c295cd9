/** Every code with its message. */
const MESSAGES = {
  AMBIT_HTTP_CLIENT_GONE: 'The client closed the connection before it had its answer',
  AMBIT_HTTP_FAILURES_UNSEEN:
    'This version of Express does not tell when a handler fails, and its work would be committed. Use Express 5.3 or newer, or mount rollbackOnError right before your own error handlers, also in a router that has its own, and last of all',
  AMBIT_HTTP_NO_REQUEST_SCOPE: 'The request has no scope. Mount containerMiddleware(appContainer) first',
  AMBIT_HTTP_SECOND_ANSWER: 'The request was answered already, so this answer was dropped',
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

  constructor(code: HttpErrorCode, detail?: string) {
    super(`${MESSAGES[code]}${detail === undefined ? '' : `: ${detail}`} [${code}]`);
    this.code = code;
  }
}
