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
