import type { IContainer } from '@ambit/container';
import { HttpError } from '@ambit/http';
import type { HeldResponseOptions } from '@ambit/http/host';
import type { TransactionError, TransactionOptions } from '@ambit/transaction';
import type { FastifyRequest } from 'fastify';

/**
 * The scope of the request's open transaction. Unlike `request.transactionScope` it is never undefined: without an open
 * transaction this throws.
 *
 * @param request - the request
 * @returns the scope tagged `transaction`
 * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: there is none
 *
 * @example
 * ```ts
 * import type { IConnection } from '@ambit/transaction';
 * import type { FastifyRequest } from 'fastify';
 *
 * const storeOrder = (request: FastifyRequest): Promise<unknown> =>
 *   requireTransactionScope(request).resolve<IConnection>('IConnection').query('INSERT INTO orders DEFAULT VALUES');
 * ```
 */
export function requireTransactionScope(request: Pick<FastifyRequest, 'transactionScope'>): IContainer {
  const { transactionScope } = request;
  if (transactionScope) return transactionScope;
  throw new HttpError('AMBIT_HTTP_NO_TRANSACTION', 'call and await request.startTransaction() first');
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs the handler of the route in a transaction: BEGIN before it, COMMIT before its response is sent. */
    readonly transaction?: boolean | RouteTransactionOptions;
  }
}

/** What every transaction is begun with, unless `startTransaction(options)` or the route says otherwise. */
export interface TransactionPluginOptions extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Called with failures that change no outcome. Default: the request's log. */
  readonly onError?: (error: TransactionError, request: FastifyRequest) => void;
}

/** The terms of a route with `config: { transaction: ... }`; for what they leave open, the plugin's options hold. */
export interface RouteTransactionOptions
  extends TransactionPluginOptions, Pick<HeldResponseOptions<FastifyRequest>, 'rollbackOn'> {}
