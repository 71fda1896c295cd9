import { STATUS_CODES } from 'node:http';
import { TransactionError } from '@ambit/transaction';
import type { Response } from 'express';

/** Responds where no error handler does. Of errors, only our own may say what happened: others may tell internal matters. */
export function respondPlainly(res: Response, error: unknown): void {
  const { status } = Object(error) as { status?: unknown };
  const code = typeof status === 'number' && status >= 400 && status in STATUS_CODES ? status : 500;
  res.status(code).json({ error: error instanceof TransactionError ? error.message : STATUS_CODES[code] });
}

/** To Express, what else `next()` may be called with is no error. */
export function isError(given: unknown): boolean {
  return Boolean(given) && given !== 'route' && given !== 'router';
}
