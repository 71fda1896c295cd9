import type { IContainer } from '@ambit/container';
import {
  type ActiveRequest,
  hasUnreadBody,
  HttpError,
  isDisconnect,
  type PreparedTransactionOptions,
  type RequestClient,
  type RequestScopes,
  RequestTransaction,
} from '@ambit/http/host';
import { publishFailure } from '@ambit/transaction/host';
import { discard, finishWithBody, responseToNobody } from './response-body.js';

/** A request as a framework has it, and its client. */
export interface RequestToServe<Q, C> extends RequestClient {
  /** The request of the framework, for the functions among the options. */
  readonly request: Q;
  /** The second argument of the function for the parent scope. */
  readonly context: C;
  /** The HTTP method. */
  readonly method: string;
}

/**
 * The client of a request, with what the platform needs for its scope: Workers keep running until the disposal, and keep no connection for the
 * next request.
 *
 * @param request - the request
 * @param context - what the host gives besides it, such as the `ExecutionContext` of a Worker
 * @returns the part of a {@link RequestToServe} that every framework has
 */
export function clientOf(
  request: Request,
  context: unknown,
): Pick<RequestToServe<never, never>, 'method'> & RequestClient {
  const { waitUntil, passThroughOnException } = Object(context) as Record<string, unknown>;
  const { method, signal } = request;
  return {
    method,
    signal,
    waitUntil: typeof waitUntil === 'function' ? waitUntil.bind(context) : undefined,
    // Only the context of a Worker has this function; a Durable Object keeps its connections.
    ownsConnections: typeof passThroughOnException === 'function',
  };
}

/**
 * Opens the scope of a request, calls `handle`, and finishes the request with its response body, its failure or the disconnect of its client.
 *
 * @param scopes - those of the middleware or handler
 * @param toServe - the request and its client
 * @param handle - the rest of the application; the scope is `active.scope`
 * @returns the response to send; one of status 499 where the client has left
 * @throws what `handle` throws, or what the opening of the scope fails with
 *
 * @example
 * ```ts
 * import { respondInScope } from '@ambit/fetch/host';
 * import type { RequestScopes } from '@ambit/http/host';
 *
 * interface Event { readonly req: Request; readonly context: Record<string, unknown> }
 *
 * const middleware = (scopes: RequestScopes<Event>) => (event: Event, next: () => Promise<Response>): Promise<Response> =>
 *   respondInScope(scopes, { request: event, context: undefined, method: event.req.method, signal: event.req.signal }, (active) => {
 *     event.context['container'] = active.scope;
 *     return next();
 *   });
 * ```
 */
export async function respondInScope<Q, C, R extends Response | undefined>(
  scopes: RequestScopes<Q, C>,
  toServe: RequestToServe<Q, C>,
  handle: (active: ActiveRequest) => R | Promise<R>,
): Promise<R> {
  let active: ActiveRequest | undefined;
  try {
    const opened = await scopes.open(toServe.request, toServe.context, toServe);
    active = opened;
    const response = await opened.whileClientIsThere(async () => {
      const handled = await handle(opened);
      if (opened.isFinished) discard(handled);
      return handled;
    });
    return await finishWithBody(opened, toServe.method, response);
  } catch (error) {
    active?.finish(error);
    if (isDisconnect(active?.disconnectReason ?? error)) return responseToNobody() as R;
    publishFailure(error);
    throw error;
  }
}

/**
 * Calls `handle` in a transaction. COMMIT succeeds before the response is returned; a failure, a response that cannot be sent, a status that
 * rolls back, a client that leaves and the time limit roll back.
 *
 * @param requestScope - the scope of the request
 * @param prepared - the options of the transaction
 * @param request - the request; while a part of its body is still to come, no connection is taken before the first statement
 * @param handle - responds, with the scope of the transaction
 * @returns the response to send
 * @throws what `handle` throws; `TransactionError`: BEGIN or COMMIT failed; `HttpError` `AMBIT_HTTP_NO_RESPONSE`: nothing can be sent
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { respondInTransaction } from '@ambit/fetch/host';
 * import { prepareTransactionOptions } from '@ambit/http/host';
 *
 * const prepare = prepareTransactionOptions<Request>({ isolation: 'serializable' });
 * const respond = (request: Request, scope: IContainer, handler: (scope: IContainer) => Promise<Response>): Promise<Response> =>
 *   respondInTransaction(scope, prepare(request), request, handler);
 * ```
 */
export async function respondInTransaction<R extends Response>(
  requestScope: IContainer,
  prepared: PreparedTransactionOptions,
  request: Request,
  handle: (scope: IContainer) => R | Promise<R>,
): Promise<R> {
  const transaction = new RequestTransaction(requestScope, prepared, () => request.signal, hasUnreadBody(request));
  const { scope } = await transaction.begun;
  let response: R | undefined;
  try {
    response = await transaction.run(async () => {
      const handled = await handle(scope);
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
}

/** The status, of what the host will be able to send. */
function sendableStatus(response: Response): number {
  const { status, bodyUsed, body } = Object(response) as Response;
  // A status of 0 is that of `Response.error()`.
  if (!status || bodyUsed || body?.locked) throw new HttpError('AMBIT_HTTP_NO_RESPONSE');
  return status;
}
