import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { finished } from 'node:stream/promises';
import { HttpError } from '@ambit/host';
import { TransactionError } from '@ambit/transaction';
import { clearHead } from './head.js';

/** After this time, error handlers that were called and have not responded are not waited for any longer. */
export const TIME_TO_RESPOND_MS = 1000;

/** Responds where no error handler does. Of errors, only ours may say what happened: others may expose internal matters. */
export function respondPlainly(res: ServerResponse, error: unknown): void {
  const { status, statusCode = status } = Object(error) as { status?: unknown; statusCode?: unknown };
  const isError = typeof statusCode === 'number' && statusCode >= 400 && statusCode in STATUS_CODES;
  // The handler may have said something of the response that it did not send.
  clearHead(res, false);
  if (isError) res.statusCode = statusCode;
  const isOurs = error instanceof TransactionError || error instanceof HttpError;
  res.setHeader('content-type', 'application/json; charset=utf-8');
  res.end(JSON.stringify({ error: isOurs ? error.message : STATUS_CODES[res.statusCode] }));
}

/**
 * Closes the connection of a response that has begun and is not complete within a second. Such a response can carry no error, so
 * its client learns of the failure from the closed connection.
 *
 * @param res - the response
 *
 * @example
 * ```ts
 * import type { ServerResponse } from 'node:http';
 * import { closeUnlessEnded } from '@ambit/http/host';
 *
 * function refuseTransaction(res: ServerResponse, next: (error: Error) => void): void {
 *   closeUnlessEnded(res); // the error handlers have a second to complete it
 *   next(new Error('The response has begun already'));
 * }
 * ```
 */
export function closeUnlessEnded(res: ServerResponse): void {
  const closing = setTimeout(() => {
    if (!res.writableEnded) res.destroy();
  }, TIME_TO_RESPOND_MS);
  res.once('close', () => clearTimeout(closing));
}

/**
 * Express's own error handler sees that nothing was sent, then waits until the request is read, then responds. A second
 * response of the handler in between would crash the process, so the waiting is done before it, behind the gate; an
 * upload is read to its end, too, unless its client leaves.
 */
export async function readRest(req: IncomingMessage): Promise<void> {
  if (!req.readable) return;
  req.resume();
  await finished(req).catch(() => undefined);
}
