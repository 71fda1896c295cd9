import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { HttpError } from '@ambit/http';
import { watcherOf } from './express-internals.js';

declare global {
  namespace Express {
    interface Request {
      /** The scope of this request. Set by `containerMiddleware()`, disposed when the request finishes. */
      container: IContainer;
      /** The scope of the open transaction. Set by `withTransaction()`. */
      transactionScope?: IContainer;
    }
  }
}

/**
 * A middleware for requests of any type. Express infers the types of the other handlers of a route from its path, as if the
 * middleware were not there.
 */
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

/** What the helpers need of a request, whatever its params and body. */
export interface ExpressRequest {
  /** The scope of the request. */
  readonly container: IContainer;
  /** The scope of its open transaction. */
  readonly transactionScope?: IContainer | undefined;
}

export function scopeOf(req: Partial<ExpressRequest>, who: string): IContainer {
  if (req.container) return req.container;
  throw new HttpError('AMBIT_HTTP_NO_REQUEST_SCOPE', who);
}

/** Where a handler's services come from: its transaction, as long as it may still work in it. */
export function currentScopeOf(req: Partial<ExpressRequest>, who: string): IContainer {
  const { transactionScope } = req;
  return transactionScope && !watcherOf(req)?.isOver ? transactionScope : scopeOf(req, who);
}

/**
 * The scope of the transaction that `withTransaction()` opened for this request.
 *
 * @param req - the request
 * @returns the scope tagged `transaction`
 * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: the request has no open transaction
 *
 * @example
 * ```ts
 * import type { IConnection } from '@ambit/transaction';
 * import type { RequestHandler } from 'express';
 *
 * const placeOrder: RequestHandler = async (req, res) => {
 *   const connection = requireTransactionScope(req).resolve<IConnection>('IConnection');
 *   await connection.query('INSERT INTO orders (product) VALUES ($1)', [req.body.product]);
 *   res.status(201).json({ ordered: req.body.product });
 * };
 * ```
 */
export function requireTransactionScope(req: Pick<ExpressRequest, 'transactionScope'>): IContainer {
  const { transactionScope } = req;
  if (transactionScope) return transactionScope;
  throw new HttpError('AMBIT_HTTP_NO_TRANSACTION', 'mount withTransaction() on the route, before this handler');
}
