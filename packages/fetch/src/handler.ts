import type { IContainer } from '@ambit/container';
import {
  type ActiveRequest,
  checkFunctions,
  type DrainRequestsOptions,
  invalidOption,
  type ParentScope as ParentScopeOf,
  RequestScopes,
  type RequestScopesOptions,
  type RequestTransactionOptions,
  prepareTransactionOptions,
  problemOf,
  responseTo,
} from '@ambit/http/host';
import { inOwnContext, inRequestContext } from '@ambit/transaction/host';
import { clientOf, respondInScope, respondInTransaction } from './respond.js';

/** The scope around the request's own: the application container, or what a function of the request gives. */
export type ParentScope<Q, C> = ParentScopeOf<Q, [context: C]>;

/** Responds to a request: `context` is what the host gave besides it. */
export type Handler<Q extends Request = Request, C = unknown, R extends Response | undefined = Response> = (
  request: Q,
  scope: IContainer,
  context: C,
) => R | Promise<R>;

/** How scopes are opened, how many requests are taken on, and how errors are responded to. */
export interface HandlerOptions<Q extends Request = Request> extends RequestScopesOptions<Q> {
  /** Responds to what the handler, or the opening of its scope, threw. Default: the host receives the error. */
  readonly onError?: (error: unknown, request: Q) => Response | Promise<Response>;
}

/** A handler in the form that hosts call. */
export interface FetchHandler<Q extends Request = Request, C = unknown, R extends Response | undefined = Response> {
  (request: Q, ...context: undefined extends C ? [context?: C] : [context: C]): Promise<R>;
  /**
   * For a graceful shutdown: resolves when no request scope is open. Stop the host's listening first.
   *
   * @param options - how long to wait. Default: 10 s
   * @throws `HttpError` `AMBIT_HTTP_DISPOSE_TIMEOUT`: scopes are still open after `timeoutMs`; `AMBIT_OPTION`: that is no number
   */
  drain(options?: DrainRequestsOptions): Promise<void>;
  /** How many request scopes are not disposed yet. */
  readonly openRequests: number;
}

/**
 * Gives every request a scope of its own, tagged `request`, with `IRequestSignal` in it. The scope is disposed once: when
 * the response body has been read to its end, has failed or is cancelled; when the handler throws; or when the client
 * leaves.
 *
 * @param container - the application container, or a function of the request and its context that gives the parent scope
 * @param handler - receives the request, its scope, and the context that the host gave
 * @param options - how scopes are opened, how many requests are taken on, and how errors are responded to
 * @returns what `Bun.serve`, `Deno.serve`, Workers and routers call with a request. If the context has `waitUntil`, it
 *   receives the disposal of the scope.
 * @throws `HttpError` `AMBIT_OPTION`: an argument or an option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * const container = new Container({ tags: ['application'] });
 * const handler = createHandler(container, (request, scope) =>
 *   Response.json({ isDisconnected: scope.resolve('IRequestSignal').aborted }),
 * );
 *
 * const response = await handler(new Request('http://localhost/'));
 * ```
 */
export function createHandler<Q extends Request = Request, C = unknown, R extends Response | undefined = Response>(
  container: ParentScope<Q, C>,
  handler: Handler<Q, C, R>,
  { onError, ...options }: HandlerOptions<Q> = {},
): FetchHandler<Q, C, R> {
  if (typeof handler !== 'function') throw invalidOption('createHandler() needs a handler');
  checkFunctions({ onError }, 'onError');
  const scopes = new RequestScopes<Q, C>(container, options, 'createHandler()');

  const respond = async (request: Q, context: C): Promise<R> => {
    let opened: ActiveRequest | undefined;
    try {
      const toServe = { request, context, ...clientOf(request, context) };
      return await respondInScope(scopes, toServe, (active) => {
        opened = active;
        return inRequestContext(
          () => request,
          () => handler(request, active.scope as IContainer, context),
        );
      });
    } catch (error) {
      const response = await onError?.(error, request);
      opened?.respondedWith(response?.status ?? responseTo(error).status);
      if (!response) throw error;
      return response as R;
    }
  };

  return Object.defineProperties(respond, {
    drain: { value: (draining?: DrainRequestsOptions) => scopes.drain(draining) },
    openRequests: { get: () => scopes.openRequests },
  }) as FetchHandler<Q, C, R>;
}

/**
 * Runs the handler in a transaction, with the transaction scope in place of the request scope. COMMIT succeeds before the
 * response is returned, so it is sent only when its work is stored. A handler that throws or returns no response that can be
 * sent, a response of a status that `rollbackOn` names, a client that leaves and the time limit roll back.
 *
 * @param handler - called when BEGIN has succeeded. A response that streams is sent after COMMIT, so it must not need the
 *   connection.
 * @param options - those of `beginTransaction()`, and `rollbackOn`
 * @returns a handler for `createHandler()`
 * @throws `HttpError` or `TransactionError` `AMBIT_OPTION`: an option is invalid; per request
 *   `AMBIT_HTTP_NO_RESPONSE`: the handler returned nothing that can be sent
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
  const prepare = prepareTransactionOptions(options);
  const run: Handler<Q, C, R> = (request, requestScope, context) =>
    respondInTransaction(requestScope, prepare(request), request, (scope) => handler(request, scope, context));
  return (request, requestScope, context) => inOwnContext(run, request, requestScope, context);
}

/**
 * The response to an error, as JSON: the error's own status where it has one, 500 otherwise, and `Retry-After` where nothing
 * was stored and a retry may succeed. Only what the application meant for its clients is in it: the message of an error below 500, and the
 * code of ours.
 *
 * @param error - what was thrown
 * @returns the response, with a body such as `{ "error": "Try again later", "code": "AMBIT_HTTP_OVERLOADED" }`
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * const container = new Container({ tags: ['application'] });
 * const handler = createHandler(container, () => new Response('hello'), { onError: errorResponse });
 * ```
 */
export function errorResponse(error: unknown): Response {
  const { status, headers, body } = problemOf(error);
  const { detail, code } = body;
  return Response.json(
    { error: detail, ...(code === undefined ? {} : { code }) },
    { status, headers: { ...headers, 'content-type': 'application/json' } },
  );
}

/**
 * The same as problem details (RFC 9457).
 *
 * @param error - what was thrown
 * @returns the response, with a body such as `{ "type": "about:blank", "status": 400, "detail": "No product" }`
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * const container = new Container({ tags: ['application'] });
 * const handler = createHandler(container, () => new Response('hello'), { onError: problemResponse });
 * ```
 */
export function problemResponse(error: unknown): Response {
  const { body, ...init } = problemOf(error);
  return new Response(JSON.stringify(body), init);
}
