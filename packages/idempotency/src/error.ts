/** What is wrong with the key of a request. */
export type IdempotencyProblem = 'missing' | 'malformed' | 'invalid' | 'running' | 'reused';

const MESSAGES: Readonly<Record<IdempotencyProblem, readonly [status: 400 | 409 | 422, message: string]>> = {
  missing: [400, 'This request needs an Idempotency-Key: send a new one for new work, and the same for a repetition'],
  malformed: [
    400,
    'Idempotency-Key must be a text of 1 to 255 characters, given once: in double quotes, or without them if it has no space',
  ],
  invalid: [400, 'This Idempotency-Key does not have the form that keys of this service have'],
  running: [409, 'A request with this Idempotency-Key is still running: try again when it has finished'],
  reused: [422, 'This Idempotency-Key was used for another request: take a new key for new work'],
};

/**
 * A request is refused because of its key. Nothing was done. Hosts respond with its `status`, unless the application has an error
 * handler of its own; the message is meant for the client.
 *
 * @example
 * ```ts
 * import { IdempotencyError } from '@ambit/idempotency';
 *
 * function toResponse(error: unknown): Response {
 *   if (!(error instanceof IdempotencyError)) throw error;
 *   const { message: detail, status, headers } = error;
 *   return Response.json({ title: 'Idempotency-Key', status, detail }, { status, headers: { ...headers } });
 * }
 * ```
 */
export class IdempotencyError extends Error {
  /** Always `IdempotencyError`. */
  override readonly name = 'IdempotencyError';
  /** The same for every problem. It does not change between releases. */
  readonly code = 'AMBIT_IDEMPOTENCY_KEY';
  /** What is wrong with the key. */
  readonly problem: IdempotencyProblem;
  /** 400 for a key that is missing, malformed or invalid, 409 while the first request runs, 422 for a key of another request. */
  readonly status: 400 | 409 | 422;
  /** Equal to `status`: error handlers read the one or the other. */
  readonly statusCode: 400 | 409 | 422;
  /** The same request may succeed later: hosts add `Retry-After`. */
  readonly retryable: boolean;
  /** For the response: `retry-after` where a repetition may succeed, and `link` where the application documents its keys. */
  readonly headers: Readonly<Record<string, string>>;

  /**
   * Words the message from the problem.
   *
   * @param problem - what is wrong with the key
   * @param documentation - the address of the page that tells clients about keys
   */
  constructor(problem: IdempotencyProblem, documentation?: string) {
    const [status, message] = MESSAGES[problem];
    const code = 'AMBIT_IDEMPOTENCY_KEY';
    super(
      `${message} [${documentation === undefined ? `npx ambit explain ${code}` : `${code}, see ${documentation}`}]`,
    );
    this.problem = problem;
    this.status = this.statusCode = status;
    this.retryable = problem === 'running';
    this.headers = {
      ...(this.retryable ? { 'retry-after': '1' } : {}),
      ...(documentation === undefined ? {} : { link: `<${documentation}>; rel="describedby"` }),
    };
  }
}
