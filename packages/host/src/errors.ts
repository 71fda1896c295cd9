/** Every code with its message. */
const MESSAGES = {
  AMBIT_HTTP_CLIENT_DISCONNECTED: 'The client closed the connection before it had its response',
  AMBIT_HTTP_DISPOSE_TIMEOUT:
    'A scope was not disposed in time, so nothing waits for it any longer. Look for a handler or a disposer that waits for something that does not come, or raise disposeTimeoutMs (of drain(): timeoutMs)',
  AMBIT_HTTP_DRAIN_TIMEOUT:
    'Connections were still open when timeoutMs had passed, so they were closed by force: their requests were aborted, and open transactions rolled back. Raise timeoutMs, or close WebSockets and endless streams before the server',
  AMBIT_HTTP_FAILURES_UNSEEN:
    'The transaction was rolled back, because its response came from where withTransaction() cannot see whether a handler failed: a router or an application of another copy of Express, a callback that was passed to a router, or param() of a router behind the last handler. Mount withTransaction() on the route that responds, and pass on the `next` of Express to routers that you call as a function',
  AMBIT_HTTP_HEAD_SENT:
    'The response has begun before withTransaction(), so it cannot wait for COMMIT. Call res.write() and res.flushHeaders() behind withTransaction() only',
  AMBIT_HTTP_NO_REQUEST_SCOPE: 'The request has no scope. Mount containerMiddleware(appContainer) first',
  AMBIT_HTTP_NO_RESPONSE:
    'The handler in a transaction returned nothing that can be sent, so it was rolled back. Return a Response whose body nobody has read',
  AMBIT_HTTP_NO_TRANSACTION: 'No transaction in progress',
  AMBIT_HTTP_OPTION: 'An option is invalid',
  AMBIT_HTTP_OVERLOADED:
    'The application has as many requests in progress as maxRequests allows, so this one was refused. A retry may succeed',
  AMBIT_HTTP_REQUEST_FINISHED:
    'The request has finished, and its scope is disposed. Start the transaction before you send the response',
  AMBIT_HTTP_SECOND_RESPONSE:
    'This response was dropped, because another one came first. Send one response per request',
  AMBIT_HTTP_SUCCESS_DROPPED:
    'This response was dropped, because it reports success though the transaction was rolled back; the cause says why',
  AMBIT_HTTP_TRANSACTION_LEFT_OPEN:
    'The handler responded with its transaction still open, so it was rolled back. Await commitTransaction() first',
  AMBIT_HTTP_TRANSACTION_STARTED:
    'This request has a transaction already. Start one per request, or use runInTransaction() for a nested part',
} as const;

/** The stable codes of {@link HttpError}. docs/errors.md says what to do about each. */
export type HttpErrorCode = keyof typeof MESSAGES;

/** All codes that an {@link HttpError} may have, for dashboards and tests. */
export const HTTP_ERROR_CODES = Object.keys(MESSAGES) as readonly HttpErrorCode[];

/**
 * What a host refuses or reports, with a code that identifies it. The class is one for all hosts.
 *
 * @example
 * ```ts
 * const isDroppedResponse = (error: unknown): boolean =>
 *   error instanceof HttpError && error.code === 'AMBIT_HTTP_SECOND_RESPONSE';
 * ```
 */
export class HttpError extends Error {
  /** Tells it from other errors where `instanceof` cannot, as between two copies of this package. */
  override readonly name = 'HttpError';
  /** What happened. It does not change between releases, so compare this and not the message. */
  readonly code: HttpErrorCode;
  /** The status that a host responds with where the application has no error handler. */
  readonly status: 500 | 503;
  /** The same, under the other name that error handlers look for. */
  readonly statusCode: 500 | 503;
  /** Temporary; a retry may succeed. */
  readonly unavailable: boolean;

  /**
   * Words the message from the code.
   *
   * @param code - what happened
   * @param detail - added to the message, such as the option that is invalid
   * @param options - the cause, where another error came first
   */
  constructor(code: HttpErrorCode, detail?: string, options?: ErrorOptions) {
    super(messageOf(code, detail), options);
    this.code = code;
    this.unavailable = code === 'AMBIT_HTTP_OVERLOADED';
    this.status = this.statusCode = this.unavailable ? 503 : 500;
  }
}

function messageOf(code: HttpErrorCode, detail: string | undefined): string {
  const message = detail === undefined ? MESSAGES[code] : `${MESSAGES[code]}: ${detail}`;
  // The specification fixes the message of `commitTransaction()`.
  if (message === MESSAGES.AMBIT_HTTP_NO_TRANSACTION) return message;
  return `${message} [${code}, see docs/errors.md#${code.toLowerCase()}]`;
}
