/** Calls the application's reporter, which may throw, or be async and reject: neither may crash the process. */
export async function report(reporter: ((error: unknown) => unknown) | undefined, error: unknown): Promise<void> {
  if (!reporter) return print(error);
  try {
    await reporter(error);
  } catch (failure) {
    print(error);
    print(failure);
  }
}

function print(error: unknown): void {
  // oxlint-disable-next-line no-console -- the last resort where the application names no reporter
  console.error(error);
}
