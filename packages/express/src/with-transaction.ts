import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  beginTransaction,
  checkFunctions,
  checkTransactionOptions,
  CurrentScope,
  HeldResponse,
  type HeldResponseOptions,
  isDisconnect,
  report,
  type RequestTransaction,
  type RequestTransactionOptions,
  termsOf,
} from '@ambit/http/host';
import { inOwnContext, type TransactionError } from '@ambit/transaction';
import type { Request, Response } from 'express';
import {
  type FailureWatcher,
  guardNext,
  observeRouters,
  useTransactions,
  watcherOf,
  watchFailures,
  wouldSeeFailure,
} from './express-internals.js';
import { type Middleware, scopeOf } from './request-scope.js';

type Next = (error?: unknown) => void;

/** The terms of the transaction of a route, and when its response rolls back. */
export interface WithTransactionOptions extends RequestTransactionOptions<Request>, HeldResponseOptions<Request> {}

/**
 * Runs the handlers behind it in a transaction, with its scope as `req.transactionScope`. Their first response is
 * held back until COMMIT has succeeded. A handler that fails, and a client that leaves, roll back at once.
 *
 * @param options - the terms of the transaction, and who is notified of what
 * @returns the middleware, to mount on the route
 * @throws `HttpError` `AMBIT_HTTP_OPTION` or `TransactionError` `AMBIT_TX_OPTION`: an option is invalid
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
export function withTransaction(options: WithTransactionOptions = {}): Middleware {
  checkTransactionOptions(options);
  checkFunctions(options, 'onSecondResponse');
  useTransactions();
  const terms = termsOf(options);
  const begin = async (req: Request, res: Response, next: Next): Promise<void> => {
    try {
      const scope = scopeOf(req, 'withTransaction()');
      observeRouters(req);
      const transaction = await beginTransaction(req, res, scope, terms(req));
      req.transactionScope = transaction.scope;
      // It is kept alive by what it attaches to the request and the response.
      void new ExpressResponse(req, res, transaction, options, next);
    } catch (error) {
      // Nobody waits for a response.
      if (!isDisconnect(error)) next(error);
      return;
    }
    CurrentScope.run(req, next);
  };
  return function transaction(req, res, next) {
    void inOwnContext(begin, req as Request, res as Response, next);
  };
}

/** A response whose failures the error handlers of Express respond to. */
class ExpressResponse extends HeldResponse implements FailureWatcher {
  seenIn: unknown = undefined;
  readonly #req: Request;
  readonly #onSecondResponse: WithTransactionOptions['onSecondResponse'];
  readonly #next: Next;

  constructor(
    req: Request,
    res: Response,
    transaction: RequestTransaction,
    { onSecondResponse }: WithTransactionOptions,
    next: Next,
  ) {
    super(req, res, transaction);
    this.#req = req;
    this.#onSecondResponse = onSecondResponse;
    this.#next = next;
    watchFailures(req, this);
  }

  protected handleError(error: unknown): void {
    if (!this.isOfDisconnect(error)) this.#next(error);
  }

  protected report(error: unknown): void {
    report(this.#onSecondResponse, error, this.#req);
  }

  protected override wouldSeeFailure(): boolean {
    return wouldSeeFailure(this.#req, this);
  }

  /** To Express, what else `next()` may be called with is no error. */
  override isError(given: unknown): boolean {
    return Boolean(given) && given !== 'route' && given !== 'router';
  }

  protected override timeOut(error: TransactionError): void {
    this.#next(error);
    guardNext(this.#req, () => !this.hasResponse);
  }
}

/**
 * Not needed any more: `withTransaction()` learns by itself that a handler failed, on every version of Express. It does no
 * harm.
 *
 * @param error - what a handler failed with
 * @param req - the request, whose transaction is rolled back
 * @param _res - its response, which stays as it is
 * @param next - is called with the error
 * @returns nothing: Express reads no result
 *
 * @example
 * ```ts
 * import express from 'express';
 *
 * const app = express();
 * app.use(rollbackOnError);
 * ```
 */
export const rollbackOnError = (error: unknown, req: IncomingMessage, _res: ServerResponse, next: Next): void => {
  watcherOf(req)?.fail(error);
  next(error);
};
