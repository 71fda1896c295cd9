/** What a handler gets that goes on after its client has left. */
const AFTER_DISCONNECT: ReadonlySet<unknown> = new Set([
  'AMBIT_DISPOSED',
  'AMBIT_HTTP_CLIENT_DISCONNECTED',
  'AMBIT_HTTP_REQUEST_FINISHED',
  'AMBIT_TX_ABORTED',
]);

/** Longer chains of causes are circular. */
const MOST_CAUSES = 10;

/**
 * Whether the work failed because the client has left: then nobody waits for a response, and nothing has failed, so hosts call
 * no error handler and report nothing.
 *
 * @param error - what the handler of a request failed with whose client has disconnected
 * @returns false for every other failure, which is one of the application
 *
 * @example
 * ```ts
 * import { isAfterDisconnect } from '@ambit/host';
 *
 * function fail(error: unknown, request: { isDisconnected: boolean }, next: (error: unknown) => void): void {
 *   if (!request.isDisconnected || !isAfterDisconnect(error)) next(error);
 * }
 * ```
 */
export function isAfterDisconnect(error: unknown): boolean {
  return codesOf(error).some((code) => AFTER_DISCONNECT.has(code));
}

/**
 * Whether an error says that the client has left.
 *
 * @param error - the error, such as that of a transaction
 * @returns whether it, or one of its causes, is `AMBIT_HTTP_CLIENT_DISCONNECTED`
 *
 * @example
 * ```ts
 * import { isDisconnect } from '@ambit/host';
 *
 * const isRefused = (error: unknown): boolean => error !== undefined && !isDisconnect(error);
 * ```
 */
export function isDisconnect(error: unknown): boolean {
  return codesOf(error).includes('AMBIT_HTTP_CLIENT_DISCONNECTED');
}

/** The codes of an error and of its causes: what failed may be wrapped, as ORMs do. */
function codesOf(error: unknown): unknown[] {
  const codes: unknown[] = [];
  for (let at = error; typeof at === 'object' && at !== null && codes.length < MOST_CAUSES;) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown };
    codes.push(code);
    at = cause;
  }
  return codes;
}
