/** Every code with its message. */
const MESSAGES = {
  AMBIT_HTTP_CLIENT_DISCONNECTED: 'The client left before it had the whole response',
  AMBIT_HTTP_DISPOSE_TIMEOUT:
    'Request scopes were not disposed in time. Look for a handler or a disposer that hangs, or raise timeoutMs',
  AMBIT_HTTP_NO_TRANSACTION: 'The request has no transaction. Put withTransaction() on the route, before this handler',
  AMBIT_HTTP_NO_REQUEST_SCOPE: 'The request has no scope. Mount containerMiddleware(container) first',
  AMBIT_HTTP_OPTION: 'An option is invalid',
  AMBIT_HTTP_OVERLOADED:
    'The application has as many requests in progress as maxRequests allows, so this one was refused. A retry may succeed',
} as const;

/** The stable codes of {@link HttpError}. docs/errors.md says what to do about each. */
export type HttpErrorCode = keyof typeof MESSAGES;

/** All codes that an {@link HttpError} may have, for dashboards and tests. */
export const HTTP_ERROR_CODES = Object.keys(MESSAGES) as readonly HttpErrorCode[];

/**
 * What a host refuses or reports, with a stable code. The message holds nothing that a client must not read.
 *
 * @example
 * ```ts
 * const isOverloaded = (error: unknown): boolean =>
 *   error instanceof HttpError && error.code === 'AMBIT_HTTP_OVERLOADED';
 * ```
 */
export class HttpError extends Error {
  /** Tells it from other errors where `instanceof` cannot, as between two copies of this package. */
  override readonly name = 'HttpError';
  /** What happened. It does not change between releases, so compare this and not the message. */
  readonly code: HttpErrorCode;
  /** The status of the response to it. */
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
   */
  constructor(code: HttpErrorCode, detail?: string) {
    const about = detail === undefined ? '' : `: ${detail}`;
    super(`${MESSAGES[code]}${about} [${code}, see docs/errors.md#${code.toLowerCase()}]`);
    this.code = code;
    this.unavailable = code === 'AMBIT_HTTP_OVERLOADED';
    this.status = this.statusCode = this.unavailable ? 503 : 500;
  }
}
