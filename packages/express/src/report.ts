/** Tells of a failure that no request can be answered with. A reporter of the application's own that fails is told of, too. */
export function report<Context>(
  reporter: ((error: unknown, context: Context) => void) | undefined,
  error: unknown,
  context: Context,
): void {
  if (!reporter) return print(error);
  // The call is made at once; an async function turns whatever becomes of it into a promise.
  (async () => reporter(error, context))().catch((failure: unknown) => {
    print(error);
    print(failure);
  });
}

function print(error: unknown): void {
  // oxlint-disable-next-line no-console -- the last resort where the application names no reporter
  console.error(error);
}
