import { TransactionError, type TransactionOptions, TransactionStart } from '@ambit/transaction';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { HttpError } from './errors.js';
import { observeRouters, useTransactions } from './express-internals.js';
import { checkFunctions, checkTimes } from './options.js';
import { scopeOf } from './request.js';
import { RequestLife } from './request-life.js';
import { RequestTransaction } from './request-transaction.js';

export interface WithTransactionOptions extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Told of failures that change no outcome. Default: a process warning. */
  readonly onError?: (error: TransactionError, req: Request) => void;
  /** Whether an answer of this status rolls back. Default: none does; only a failure does. */
  readonly rollbackOn?: (status: number) => boolean;
  /**
   * Called with a response that was dropped, because another one came first or because it reports success for what was rolled
   * back, and with a failure after the response when COMMIT failed as well. Default: `console.error`.
   */
  readonly onSecondAnswer?: (error: unknown, req: Request) => void;
}

/**
 * Runs the handlers behind it in a transaction, with its scope as `req.transactionScope`. Their first answer is held
 * back until COMMIT is answered. A handler that fails, and a client that leaves, roll back at once.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import express from 'express';
 *
 * declare const container: IContainer;
 * const app = express();
 * app.use(containerMiddleware(container), express.json());
 * app.post('/api/orders', withTransaction({ isolation: 'serializable' }), async (req, res) => {
 *   const orders = requireTransactionScope(req).resolve<{ create(body: unknown): Promise<object> }>('IOrderRepository');
 *   res.status(201).json(await orders.create(req.body));
 * });
 * ```
 */
export function withTransaction(options: WithTransactionOptions = {}): RequestHandler {
  checkTimes(options, 'acquireTimeoutMs', 'timeoutMs', 'endTimeoutMs', 'cancelAfterMs');
  checkFunctions(options, 'rollbackOn', 'onSecondAnswer', 'onError');
  useTransactions();
  const { onError, ...others } = options;
  return async function transaction(req, res, next) {
    try {
      await open(req, res, onError ? { ...others, onError: (error) => onError(error, req) } : others, next);
    } catch (error) {
      return next(error);
    }
    next();
  };
}

interface OpenOptions extends Omit<WithTransactionOptions, 'onError'>, Pick<TransactionOptions, 'onError'> {}

async function open(req: Request, res: Response, options: OpenOptions, next: NextFunction): Promise<void> {
  const scope = scopeOf(req, 'withTransaction()');
  if (req.transactionScope) throw new HttpError('AMBIT_HTTP_TRANSACTION_STARTED');
  if (res.headersSent) throw headSentBefore(req);
  observeRouters(req);
  const start = new TransactionStart(scope, options);
  lifeOf(req, res).onGone((reason) => abort(start, reason));
  const transaction = await start.begun;
  if (res.headersSent) {
    await transaction.rollback();
    throw headSentBefore(req);
  }
  req.transactionScope = transaction.scope;
  // It keeps itself alive through what it attaches to the request and the response.
  void new RequestTransaction(req, res, transaction, options, next);
}

/** What has left cannot be held back until COMMIT, nor be replaced by an error. */
function headSentBefore({ method, originalUrl }: Request): HttpError {
  return new HttpError('AMBIT_HTTP_HEAD_SENT', `${method} ${originalUrl}`);
}

function lifeOf(req: Request, res: Response): RequestLife {
  // The life has ended already, or the application opened the scope by other means than our middleware.
  return RequestLife.of(req, res) ?? new RequestLife(req, res, () => undefined);
}

/** The client is gone, and nobody waits for the work any more. */
function abort(start: TransactionStart, reason: HttpError): void {
  const { transaction } = start;
  if (!transaction) void start.rollback(reason);
  else void transaction.rollback(new TransactionError('AMBIT_TX_ABORTED', reason.message, { cause: reason }));
}
