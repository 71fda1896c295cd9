import {
  checkTransactionOptions,
  discard,
  RequestTransaction,
  responseToNobody,
  type WithTransactionOptions as TransactionOptions,
} from '@ambit/fetch/host';
import { HttpError } from '@ambit/host';
import { inOwnContext, TransactionSettings } from '@ambit/transaction';
import type { Context, MiddlewareHandler } from 'hono';
import { requestScopeOf } from './context.js';

/** The terms of the transaction of a route, and when its response rolls back. */
export type WithTransactionOptions = TransactionOptions<Context>;

/**
 * Runs the handlers behind it in a transaction, with its scope as `c.get('transactionScope')`. COMMIT succeeds before the
 * response is sent. A handler that throws, a response of a status that `rollbackOn` names, a client that leaves and the time
 * limit roll back; what fails goes to `app.onError()`.
 *
 * @param options - those of `beginTransaction()`, and `rollbackOn`
 * @returns the middleware, to mount on the route
 * @throws `HttpError` `AMBIT_HTTP_OPTION` or `TransactionError` `AMBIT_TX_OPTION`: an option is invalid; per request `AMBIT_HTTP_TRANSACTION_STARTED`: the request has a
 * transaction already
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.use(containerMiddleware(new Container({ tags: ['application'] })));
 * app.post('/api/orders', withTransaction({ isolation: 'serializable' }), async (c) => {
 *   const orders = requireTransactionScope(c).resolve<{ create(body: unknown): Promise<object> }>('IOrderRepository');
 *   return c.json(await orders.create(await c.req.json()), 201);
 * });
 * ```
 */
export function withTransaction(options: WithTransactionOptions = {}): MiddlewareHandler {
  checkTransactionOptions(options);
  const { onError, rollbackOn, ...terms } = options;
  const settings = TransactionSettings.of(terms);
  const run: MiddlewareHandler = async (c, next) => {
    const own = onError ? settings.with({ onError: (error) => onError(error, c) }) : settings;
    const transaction = new RequestTransaction(requestScopeOf(c), () => c.req.raw.signal, own, rollbackOn);
    if (c.get('transactionScope')) throw new HttpError('AMBIT_HTTP_TRANSACTION_STARTED');
    try {
      c.set('transactionScope', await transaction.begin());
      await transaction.run(next);
      // The application's error handler has responded already.
      if (c.error) await transaction.rollback(c.error);
      // Hono throws where a handler returned nothing; to read its response would make one.
      else if (!c.finalized) await transaction.rollback(new HttpError('AMBIT_HTTP_NO_RESPONSE'));
      else await transaction.complete(c.res.status);
    } catch (error) {
      await transaction.rollback(error);
      takeBackResponse(c);
      if (!transaction.isOfDisconnect(error)) throw error;
      c.res = responseToNobody();
    } finally {
      c.set('transactionScope', undefined);
    }
  };
  return (c, next) => inOwnContext(run, c, next);
}

/**
 * What is true of one response only; the rest belongs to every response of the application. The same as in packages/http/src/head.ts,
 * which cannot be loaded without Node; the contract of all hosts compares.
 */
const OF_THE_RESPONSE = [
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

/** Hono would merge the headers of the handler's response into those of the error handler's. */
function takeBackResponse(c: Context): void {
  if (!c.finalized) return;
  discard(c.res);
  c.res = undefined;
  c.finalized = false;
  for (const name of OF_THE_RESPONSE) c.header(name, undefined);
}
