import { TransactionError } from '@ambit/transaction';

/**
 * What `rollbackOn` is where an application does not say it: such a response means a failure, which a layer between may have
 * caught.
 *
 * @param status - the status of the response
 * @returns whether the transaction of the request is rolled back
 *
 * @example
 * ```ts
 * import { isServerError } from '@ambit/host';
 *
 * const shouldCommit = (status: number, rollbackOn = isServerError): boolean => !rollbackOn(status);
 * ```
 */
export function isServerError(status: number): boolean {
  return status >= 500;
}

const KNOWN_BEFORE: ReadonlySet<string> = new Set(['AMBIT_TX_FINISHED', 'AMBIT_TX_FAILED']);

/**
 * Whether the handler knew, or could know, before COMMIT that nothing will be committed: then its response of 400 or more is
 * sent as it is.
 *
 * @param error - what `commit()` of the transaction rejected with
 * @returns false for everything else, of which the client has to learn
 *
 * @example
 * ```ts
 * import { isKnownBefore } from '@ambit/host';
 *
 * async function complete(transaction: { commit(): Promise<void> }, status: number): Promise<void> {
 *   try {
 *     await transaction.commit();
 *   } catch (error) {
 *     if (status < 400 || !isKnownBefore(error)) throw error;
 *   }
 * }
 * ```
 */
export function isKnownBefore(error: unknown): boolean {
  return error instanceof TransactionError && KNOWN_BEFORE.has(error.code);
}

/** What is true of one response only. */
const REPRESENTATION_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'trailer',
  'transfer-encoding',
];

/**
 * Removes the headers that are true of one response only, to make room for another. What belongs to the connection or to every response
 * of the application stays.
 *
 * @param response - the response, of which nothing was sent
 *
 * @example
 * ```ts
 * import { clearRepresentation } from '@ambit/host';
 *
 * function failed(headers: Headers): Response {
 *   clearRepresentation({ removeHeader: (name) => headers.delete(name) }); // the type, length and caching of what was to be sent
 *   return new Response('Internal error', { status: 500, headers });
 * }
 * ```
 */
export function clearRepresentation(response: { removeHeader(name: string): unknown }): void {
  for (const name of REPRESENTATION_HEADERS) response.removeHeader(name);
}
