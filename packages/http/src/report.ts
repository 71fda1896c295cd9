type Reporter<Context> = ((error: unknown, context: Context) => unknown) | undefined;

/** Reports a failure that no response can carry. Where the application's reporter fails, both failures are printed. */
export function report<Context>(reporter: Reporter<Context>, error: unknown, context: Context): void {
  void reported(reporter, error, context);
}

/** The same; resolves when the reporter is done, and never rejects. */
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
