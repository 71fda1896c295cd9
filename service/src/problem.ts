/**
 * A request that is refused: the message becomes the `error` of the response.
 *
 * @example
 * ```ts
 * import { Problem } from '@ambit/service';
 *
 * throw new Problem(401, 'The token is not known', { 'www-authenticate': 'Bearer' });
 * ```
 */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** A program of the service cannot do its work: the message tells the operator why, and what to do, so no stack is printed. */
export class ExplainedError extends Error {
  override readonly name: string = 'ExplainedError';

  constructor(
    message: string,
    /** 1, or one of sysexits.h: 64 where the arguments are wrong, 78 where the configuration is. */
    readonly exitCode: 1 | 64 | 78,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
