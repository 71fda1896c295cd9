/** Who is called with a failure that no response can carry. It may be async. */
export type Reporter<Context> = ((error: unknown, context: Context) => unknown) | undefined;

/**
 * Reports a failure that no response can carry. Where the application's reporter fails, both failures are printed.
 *
 * @param reporter - the application's; may be async. Default: `console.error`
 * @param error - the failure
 * @param context - what the reporter is called with besides it, such as the request
 *
 * @example
 * ```ts
 * import { report } from '@ambit/host';
 *
 * interface Options { onDisposeError?: (error: unknown, request: Request) => void }
 * const hostOf = ({ onDisposeError }: Options) => ({
 *   onDisposeError: (error: unknown, request: Request) => report(onDisposeError, error, request),
 * });
 * ```
 */
export function report<Context>(reporter: Reporter<Context>, error: unknown, context: Context): void {
  void reported(reporter, error, context);
}

/**
 * The same as {@link report}, for a caller that waits.
 *
 * @param reporter - the application's; may be async. Default: `console.error`
 * @param error - the failure
 * @param context - what the reporter is called with besides it
 * @returns a promise that resolves when the reporter is done, and never rejects
 *
 * @example
 * ```ts
 * import { reported } from '@ambit/host';
 *
 * const beforeExit = (onError: ((error: unknown) => unknown) | undefined, error: unknown): Promise<void> =>
 *   reported(onError, error, undefined);
 * ```
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
