import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { finished } from 'node:stream/promises';
import { HttpError } from '@ambit/host';
import { TransactionError } from '@ambit/transaction';

/** Responds where no error handler does. Of errors, only ours may say what happened: others may expose internal matters. */
export function respondPlainly(res: ServerResponse, error: unknown): void {
  const { status, statusCode = status } = Object(error) as { status?: unknown; statusCode?: unknown };
  const isError = typeof statusCode === 'number' && statusCode >= 400 && statusCode in STATUS_CODES;
  res.statusCode = isError ? statusCode : 500;
  const isOurs = error instanceof TransactionError || error instanceof HttpError;
  res.setHeader('content-type', 'application/json; charset=utf-8');
  res.end(JSON.stringify({ error: isOurs ? error.message : STATUS_CODES[res.statusCode] }));
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
