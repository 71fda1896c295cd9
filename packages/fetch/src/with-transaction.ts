import {
  checkTransactionOptions,
  HttpError,
  RequestTransaction,
  type RequestTransactionOptions,
  termsOf,
} from '@ambit/host';
import { inOwnContext } from '@ambit/transaction';
import type { Handler } from './handler.js';
import { discard } from './response-body.js';

/**
 * Runs the handler in a transaction, with the transaction scope in place of the request scope. COMMIT succeeds before the
 * response is returned, so it is sent only when its work is stored. A handler that throws or returns no response that can be
 * sent, a response of a status that `rollbackOn` names, a client that leaves and the time limit roll back.
 *
 * @param handler - called when BEGIN has succeeded. A response that streams is sent after COMMIT, so it must not need the
 *   connection.
 * @param options - those of `beginTransaction()`, and `rollbackOn`
 * @returns a handler for `createHandler()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION` or `TransactionError` `AMBIT_TX_OPTION`: an option is invalid; per request `AMBIT_HTTP_NO_RESPONSE`: the handler returned nothing that
 *   can be sent
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * interface Orders {
 *   create(body: unknown): Promise<object>;
 * }
 * const container = new Container({ tags: ['application'] });
 * const placeOrder = withTransaction(async (request, scope) => {
 *   const order = await scope.resolve<Orders>('IOrderRepository').create(await request.json());
 *   return Response.json(order, { status: 201 });
 * }, { isolation: 'serializable' });
 *
 * export default { fetch: createHandler(container, placeOrder) };
 * ```
 */
export function withTransaction<Q extends Request = Request, C = unknown, R extends Response = Response>(
  handler: Handler<Q, C, R>,
  options: RequestTransactionOptions<Q> = {},
): Handler<Q, C, R> {
  checkTransactionOptions(options);
  const terms = termsOf(options);
  const run: Handler<Q, C, R> = async (request, requestScope, context) => {
    const transaction = new RequestTransaction(requestScope, terms(request), () => request.signal);
    const { scope } = await transaction.begun;
    let response: R | undefined;
    try {
      response = await transaction.run(async () => {
        const handled = await handler(request, scope, context);
        if (transaction.isAbandoned) discard(handled);
        return handled;
      });
      await transaction.complete(sendableStatus(response));
      return response;
    } catch (error) {
      await transaction.rollback(error);
      discard(response);
      throw error;
    }
  };
  return (request, requestScope, context) => inOwnContext(run, request, requestScope, context);
}

/** The status, of what the host will be able to send. */
function sendableStatus(response: Response): number {
  const { status, bodyUsed, body } = Object(response) as Response;
  // A status of 0 is that of `Response.error()`.
  if (!status || bodyUsed || body?.locked) throw new HttpError('AMBIT_HTTP_NO_RESPONSE');
  return status;
}
