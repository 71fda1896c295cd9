/** Every code with its message. */
const MESSAGES = {
  AMBIT_DISPOSED:
    'The request has finished, and its scope is disposed. Start the transaction before you send the response',
  AMBIT_DRAIN_TIMEOUT:
    'Connections were still open when timeoutMs had passed, so they were closed by force: their requests were aborted, and open transactions rolled back. Raise timeoutMs, end endless streams when IShutdownSignal of their scope aborts, and close WebSockets before the server',
  AMBIT_DRAINING: 'The server is shutting down. Repeat the request: another process, or the next one, responds to it',
  AMBIT_HTTP_CLIENT_DISCONNECTED: 'The client closed the connection before it had its response',
  AMBIT_HTTP_DISPOSE_TIMEOUT:
    'A scope was not disposed in time, so nothing waits for it any longer. Look for a handler or a disposer that waits for something that does not come, or raise disposeTimeoutMs (of drain(): timeoutMs)',
  AMBIT_HTTP_FAILURES_UNSEEN:
    'The transaction was rolled back, because its response came from where withTransaction() cannot see whether a handler failed: a router or an application of another copy of Express, a callback that was passed to a router, or param() of a router behind the last handler. Mount withTransaction() on the route that responds, and pass on the `next` of Express to routers that you call as a function',
  AMBIT_HTTP_HEAD_SENT:
    'The response has begun before its transaction, so it cannot wait for COMMIT. Call res.write() and res.flushHeaders() in the transaction only',
  AMBIT_HTTP_NO_RESPONSE:
    'The handler in a transaction returned nothing that can be sent, so it was rolled back. Return a Response whose body nobody has read',
  AMBIT_HTTP_NO_TRANSACTION: 'No transaction in progress',
  AMBIT_HTTP_OVERLOADED:
    'This request was refused, because as many are in progress as maxRequests allows, or clients leave too much of their responses unread. A retry may succeed',
  AMBIT_HTTP_RESPONSE_DROPPED: 'A response was dropped',
  AMBIT_HTTP_TRANSACTION_LEFT_OPEN:
    'The handler responded with its transaction still open, so it was rolled back. Await commitTransaction() first',
  AMBIT_NO_SCOPE:
    'The request has no scope. Mount containerMiddleware(appContainer) first; in NestJS import AmbitModule.forRoot() in the root module',
  AMBIT_OPTION: 'An option is invalid',
  AMBIT_TX_ALREADY_OPEN:
    'This request has a transaction already. Start one per request, or use runInTransaction() for a nested part',
} as const;

/** The stable codes of {@link HttpError}. docs/errors.md says what to do about each. */
export type HttpErrorCode = keyof typeof MESSAGES;

/** All codes that an {@link HttpError} may have, for dashboards and tests. */
export const HTTP_ERROR_CODES = Object.keys(MESSAGES) as readonly HttpErrorCode[];

/**
 * An error of a host, with a code that identifies it. All hosts throw this one class.
 *
 * @example
 * ```ts
 * const isDroppedResponse = (error: unknown): boolean =>
 *   error instanceof HttpError && error.code === 'AMBIT_HTTP_RESPONSE_DROPPED';
 * ```
 */
export class HttpError extends Error {
  /** Tells it from other errors where `instanceof` cannot, as between two copies of this package. */
  override readonly name = 'HttpError';
  /** Identifies what happened. It does not change between releases, so compare this and not the message. */
  readonly code: HttpErrorCode;
  /** The status that a host responds with where the application has no error handler. */
  readonly status: 500 | 503;
  /** Equals `status`: error handlers read the one or the other. */
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
    this.unavailable = code === 'AMBIT_HTTP_OVERLOADED' || code === 'AMBIT_DRAINING';
    this.status = this.statusCode = this.unavailable ? 503 : 500;
  }

  /** For the response: `retry-after` where a retry may succeed. Express, Fastify and NestJS send it. */
  get headers(): Readonly<Record<string, string>> {
    return this.unavailable ? { 'retry-after': '1' } : {};
  }
}

function messageOf(code: HttpErrorCode, detail: string | undefined): string {
  const message = detail === undefined ? MESSAGES[code] : `${MESSAGES[code]}: ${detail}`;
  // The specification fixes the message of `commitTransaction()`.
  if (message === MESSAGES.AMBIT_HTTP_NO_TRANSACTION) return message;
  return `${message} [npx ambit explain ${code}]`;
}

/** The response to a failed request where the application has no error handler. */
export interface ErrorStatus {
  /** The status of the error from 400 on; 503 where it is unavailable, and 500 where it says nothing. */
  readonly status: number;
  /** `Retry-After` in seconds, where nothing was stored and a retry may succeed. */
  readonly retryAfter: number | undefined;
  /** Nobody has to investigate it: the client is to blame, or it is temporary. */
  readonly isExpected: boolean;
}

/**
 * Reads the status that a host responds to an error with, so that all hosts respond alike.
 *
 * @param error - what a handler threw
 * @returns its status, and whether a retry may succeed
 */
export function responseTo(error: unknown): ErrorStatus {
  const { status: own, statusCode, code, unavailable, retryable } = Object(error) as Record<string, unknown>;
  const isTemporary = unavailable === true;
  const status = [statusCode, own].find(isErrorStatus) ?? (isTemporary ? 503 : 500);
  // A client that repeats a request which may be stored could store it twice.
  const mayRetry = (isTemporary || retryable === true) && code !== 'AMBIT_TX_OUTCOME_UNKNOWN';
  return { status, retryAfter: mayRetry ? 1 : undefined, isExpected: isTemporary || status < 500 };
}

/** The body of an error response as RFC 9457 has it, `application/problem+json`. */
export interface ProblemDetails {
  /** `about:blank`: the status says what kind of problem it is. */
  readonly type: string;
  /** The status of the response. */
  readonly status: number;
  /** The text that clients may read: the message of an error below 500. */
  readonly detail: string;
  /** The code of an error of ours. */
  readonly code?: string;
}

/** An error response, for whatever the host responds with. */
export interface ProblemResponse {
  /** The status of the error from 400 on. */
  readonly status: number;
  /** `Content-Type`, and `Retry-After` where nothing was stored and a retry may succeed. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, to send as JSON; in NestJS 11 on Express as text, `JSON.stringify(body)`: it gives an object another content type. */
  readonly body: ProblemDetails;
}

/**
 * The response to an error as problem details (RFC 9457), for the error handler of any host. Only what the application meant for its clients is
 * in it: the message of an error below 500, and the code of ours.
 *
 * @param error - what was thrown
 * @returns status, headers and body
 *
 * @example
 * ```ts
 * import { problemOf } from '@ambit/http';
 * import type { ErrorRequestHandler } from 'express';
 *
 * const onError: ErrorRequestHandler = (error, _req, res, _next) => {
 *   const { status, headers, body } = problemOf(error);
 *   res.status(status).set(headers).send(JSON.stringify(body));
 * };
 * ```
 */
export function problemOf(error: unknown): ProblemResponse {
  const { message, code, unavailable } = Object(error) as Record<string, unknown>;
  const { status, retryAfter } = responseTo(error);
  const isOurs = typeof code === 'string' && code.startsWith('AMBIT_');
  const detail = unavailable === true ? 'Try again later' : status < 500 ? String(message) : 'Internal error';
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
    body: { type: 'about:blank', status, detail, ...(isOurs ? { code } : {}) },
  };
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600;
}

/** The codes that a handler meets which goes on after its client has left. */
const AFTER_DISCONNECT: ReadonlySet<unknown> = new Set([
  'AMBIT_DISPOSED',
  'AMBIT_HTTP_CLIENT_DISCONNECTED',
  'AMBIT_TX_ABORTED',
]);

/** Longer chains of causes are circular. */
const MOST_CAUSES = 10;

/**
 * Tells if the work failed because the client has left: then nobody waits for a response, and nothing has failed, so hosts call
 * no error handler and report nothing.
 *
 * @param error - what the handler of a request failed with whose client has disconnected
 * @returns false for every other failure, which is one of the application
 */
export function isAfterDisconnect(error: unknown): boolean {
  return codesOf(error).some((code) => AFTER_DISCONNECT.has(code));
}

/**
 * Tells if an error says that the client has left.
 *
 * @param error - the error, such as that of a transaction
 * @returns whether it, or one of its causes, is `AMBIT_HTTP_CLIENT_DISCONNECTED`
 */
export function isDisconnect(error: unknown): boolean {
  return codesOf(error).includes('AMBIT_HTTP_CLIENT_DISCONNECTED');
}

/** The codes of an error and of its causes: what failed may be wrapped, as ORMs do. */
function codesOf(error: unknown): unknown[] {
  const codes: unknown[] = [];
  for (let at = error; typeof at === 'object' && at !== null && codes.length < MOST_CAUSES;) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown };
    codes.push(code);
    at = cause;
  }
  return codes;
}

/** The function that is called with a failure that no response can carry. It may be async. */
export type Reporter<Context> = ((error: unknown, context: Context) => unknown) | undefined;

/**
 * Reports a failure that no response can carry. Where the application's reporter fails, both failures are printed.
 *
 * @param reporter - the application's; may be async. Default: `console.error`
 * @param error - the failure
 * @param context - what the reporter is called with besides it, such as the request
 */
export function report<Context>(reporter: Reporter<Context>, error: unknown, context: Context): void {
  void reported(reporter, error, context);
}

/**
 * Reports as {@link report} does, for a caller that waits.
 *
 * @param reporter - the application's; may be async. Default: `console.error`
 * @param error - the failure
 * @param context - what the reporter is called with besides it
 * @returns a promise that resolves when the reporter is done, and never rejects
 */
export async function reported<Context>(reporter: Reporter<Context>, error: unknown, context: Context): Promise<void> {
  if (!reporter) return print(error);
  try {
    await reporter(error, context);
  } catch (failure) {
    print(error);
    print(failure);
  }
}

function print(error: unknown): void {
  // oxlint-disable-next-line no-console -- the last resort where the application names no reporter
  console.error(error);
}
