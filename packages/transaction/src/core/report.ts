import { inspect } from 'node:util';
import type { TransactionError } from './errors.js';

interface Reporter {
  readonly onError: (error: TransactionError) => void;
}

/** Reports a failure that changes no outcome. A reporter that fails must not change how a transaction completes. */
export function report({ onError }: Reporter, error: TransactionError): void {
  // The call is made at once; an async function turns a throw into a rejection.
  (async () => onError(error))().catch(() => warn(error));
}

export function warn(error: TransactionError): void {
  // Node prints the message and the detail of a warning, but not its cause, and only the cause says what went wrong.
  process.emitWarning(Object.assign(error, { detail: described(error.cause) }));
}

/** A cause may throw when it is inspected. */
function described(cause: unknown): string {
  try {
    return inspect(cause);
  } catch {
    return 'The cause cannot be read';
  }
}
