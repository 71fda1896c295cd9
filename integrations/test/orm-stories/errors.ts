import { TransactionError } from '@ambit/transaction';

/** The code of our error, which some ORMs wrap in an error of their own. */
export function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = wrappedIn(at)) if (at instanceof TransactionError) return at.code;
  return undefined;
}

function wrappedIn(error: Error & { driverError?: unknown }): unknown {
  return error.driverError ?? error.cause;
}
