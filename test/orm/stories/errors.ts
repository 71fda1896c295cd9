/** The code of our error, which some ORMs wrap in an error of their own, or copy into one. */
export function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = wrappedIn(at)) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('AMBIT_')) return code;
  }
  return undefined;
}

function wrappedIn(error: Error & { driverError?: unknown }): unknown {
  return error.driverError ?? error.cause;
}
