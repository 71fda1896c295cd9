import { startTimer } from './timers.js';

const REPORT_TIMEOUT_MS = 5000;

type Reporter<Context> = ((error: unknown, context: Context) => unknown) | undefined;

/**
 * Reports a failure that no response can carry. Where the application's reporter fails, both failures are printed.
 *
 * @param reporter - the application's; may be async. Default: `console.error`
 * @param error - the failure
 * @param context - what the reporter is called with besides it, such as the request
 *
 * @example
 * ```ts
 * import type { IncomingMessage } from 'node:http';
 * import { report } from '@ambit/http/host';
 *
 * interface Options { onDisposeError?: (error: unknown, req: IncomingMessage) => void }
 * const hostOf = ({ onDisposeError }: Options) => ({
 *   onDisposeError: (error: unknown, { req }: { req: IncomingMessage }) => report(onDisposeError, error, req),
 * });
 * ```
 */
export function report<Context>(reporter: Reporter<Context>, error: unknown, context: Context): void {
  void reported(reporter, error, context);
}

/** The same; resolves when the reporter is done, and never rejects. */
async function reported<Context>(reporter: Reporter<Context>, error: unknown, context: Context): Promise<void> {
  if (!reporter) return print(error);
  try {
    await reporter(error, context);
  } catch (failure) {
    print(error);
    print(failure);
  }
}

/** The same; waits for a reporter that hangs five seconds at most. */
export async function reportedInTime(reporter: Reporter<undefined>, error: unknown): Promise<void> {
  const reporting = reported(reporter, error, undefined);
  await new Promise<void>((resolve) => {
    const timer = startTimer(resolve, REPORT_TIMEOUT_MS);
    void reporting.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function print(error: unknown): void {
  // oxlint-disable-next-line no-console -- the last resort where the application names no reporter
  console.error(error);
}
