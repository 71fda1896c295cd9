import type { IContainer } from '@ambit/container';
import { HttpError } from '@ambit/http';
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
