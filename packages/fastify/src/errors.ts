/** Every code with its message. */
const MESSAGES = {
  AMBIT_HTTP_CLIENT_GONE: 'The client closed the connection before it had its answer',
  AMBIT_HTTP_DISPOSE_TIMEOUT:
    'A scope was not disposed in time, so nobody waits for it any longer. Look for a disposer that hangs, or raise disposeTimeoutMs',
  AMBIT_HTTP_NO_TRANSACTION: 'No transaction in progress',
  AMBIT_HTTP_OPTION: 'An option is invalid',
  AMBIT_HTTP_OVERLOADED:
    'The application has as many requests in progress as maxRequests allows, so this one was refused. A retry may succeed',
  AMBIT_HTTP_REQUEST_ENDED: 'The request has ended, and its scope with it. Start the transaction before you answer',
  AMBIT_HTTP_TRANSACTION_LEFT_OPEN:
    'The handler answered with its transaction still open, so it was rolled back. Await commitTransaction() first',
  AMBIT_HTTP_TRANSACTION_STARTED:
    'This request has a transaction already. Use request.transactionScope, or runInTransaction() for a nested part',
} as const;

export type HttpErrorCode = keyof typeof MESSAGES;

export const HTTP_ERROR_CODES = Object.keys(MESSAGES) as readonly HttpErrorCode[];

/**
 * What the plugins refuse, with a code to tell it by.
 *
 * @example
 * ```ts
 * const isForgottenCommit = (error: unknown): boolean =>
 *   error instanceof HttpError && error.code === 'AMBIT_HTTP_TRANSACTION_LEFT_OPEN';
 * ```
 */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code: HttpErrorCode;
  /** What Fastify answers when nobody says otherwise. */
  readonly statusCode: 500 | 503;
  /** Temporary; a retry may succeed. */
  readonly unavailable: boolean;

  constructor(code: HttpErrorCode, detail?: string) {
    const text = detail === undefined ? MESSAGES[code] : `${MESSAGES[code]}: ${detail}`;
    // The words of `commitTransaction()` are settled.
    super(code === 'AMBIT_HTTP_NO_TRANSACTION' && detail === undefined ? text : `${text} [${code}]`);
    this.code = code;
    this.unavailable = code === 'AMBIT_HTTP_OVERLOADED';
    this.statusCode = this.unavailable ? 503 : 500;
  }
}
