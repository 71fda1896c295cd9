import type { IContainer } from '@ambit/container';
import { HttpError } from '@ambit/host';
import type { Context } from 'hono';

declare module 'hono' {
  interface ContextVariableMap {
    /** The scope of the request, tagged `request`, behind `containerMiddleware()`. */
    container: IContainer;
    /** The scope of the open transaction, behind `withTransaction()`; undefined elsewhere. */
    transactionScope: IContainer | undefined;
  }
}

/**
 * The scope of the request's open transaction. Unlike `c.get('transactionScope')` it is never undefined.
 *
 * @param c - the context of the request
 * @returns the scope tagged `transaction`
 * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: the request has no open transaction
 *
 * @example
 * ```ts
 * import type { IConnection } from '@ambit/transaction';
 * import type { Context } from 'hono';
 *
 * const storeOrder = (c: Context): Promise<unknown> =>
 *   requireTransactionScope(c).resolve<IConnection>('IConnection').query('INSERT INTO orders DEFAULT VALUES');
 * ```
 */
export function requireTransactionScope(c: Context): IContainer {
  const scope = c.get('transactionScope');
  if (scope) return scope;
  throw new HttpError('AMBIT_HTTP_NO_TRANSACTION', 'put withTransaction() on the route, before this handler');
}

/** The scope that `containerMiddleware()` has opened. */
export function requestScopeOf(c: Context): IContainer {
  const scope = c.get('container') as IContainer | undefined;
  if (scope) return scope;
  throw new HttpError('AMBIT_HTTP_NO_REQUEST_SCOPE', 'withTransaction()');
}
