import type { IContainer } from '@ambit/container';
import { clientOf, discard, respondInScope, responseToNobody } from '@ambit/fetch/host';
import {
  clearRepresentation,
  type DrainRequestsOptions,
  hasUnreadBody,
  HttpError,
  RequestScopes,
  type RequestScopesOptions,
  RequestTransaction,
  type RequestTransactionOptions,
  prepareTransactionOptions,
  transactionScopeOf,
} from '@ambit/http/host';
import { inOwnContext, inRequestContext, publishFailure, type ServedRequest } from '@ambit/transaction/host';
import { Sockets } from '#node';
import type { Context, MiddlewareHandler } from 'hono';
import type { SocketLimits } from './node.js';

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
  return transactionScopeOf(c.var, 'put withTransaction() on the route, before this handler');
}

function requestScopeOf(c: Context): IContainer {
  const scope = c.get('container') as IContainer | undefined;
  if (scope) return scope;
  throw new HttpError('AMBIT_NO_SCOPE', 'withTransaction()');
}

/** How scopes are opened, how many requests are taken on, and who is notified of a disposal that failed. */
export type ContainerMiddlewareOptions = RequestScopesOptions<Context> & SocketLimits;

/** The middleware, and what a graceful shutdown needs of it. */
export interface ContainerMiddleware extends MiddlewareHandler {
  /**
   * Aborts `IShutdownSignal` of all requests, and resolves when no request scope is open. On Node, `drain(server)` of @ambit/http does both.
   *
   * @param options - how long to wait. Default: 10 s
   * @throws `HttpError` `AMBIT_HTTP_DISPOSE_TIMEOUT`: scopes are still open after `timeoutMs`; `AMBIT_OPTION`: that is no number
   */
  drain(options?: DrainRequestsOptions): Promise<void>;
  /** The number of request scopes that are not disposed yet. */
  readonly openRequests: number;
}

/**
 * Opens a scope tagged `request` for every request as `c.get('container')`, and disposes it once: on Node when the response
 * is sent or the client has disconnected, as its socket tells; elsewhere when the response body has been read to its end, has failed
 * or is cancelled, or when `c.req.raw.signal` aborts. Mount it first.
 *
 * In the scope, `IRequestSignal` is an `AbortSignal` that aborts when the client leaves before it has the whole response.
 *
 * @param container - the application container, or a function of the context that gives the parent scope
 * @param options - how scopes are opened, how many requests are taken on, and who is notified of a disposal that failed
 * @returns the middleware, with `drain()` for a graceful shutdown
 * @throws `HttpError` `AMBIT_OPTION`: an argument or an option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.use(containerMiddleware(new Container({ tags: ['application'] })));
 * app.get('/disconnected', (c) => c.json(c.get('container').resolve('IRequestSignal').aborted));
 * ```
 */
export function containerMiddleware(
  container: IContainer | ((c: Context) => IContainer | Promise<IContainer>),
  options: ContainerMiddlewareOptions = {},
): ContainerMiddleware {
  const { maxRequests = Sockets.maxRequests } = options;
  const scopes = new RequestScopes<Context>(container, { ...options, maxRequests }, 'containerMiddleware()');
  const sockets = new Sockets(scopes, options);

  let isChecked = false;
  const middleware: MiddlewareHandler = async (c, next) => {
    isChecked ||= checkVersion(c);
    const opening = sockets.open(c);
    if (opening) {
      const active = opening instanceof Promise ? await opening : opening;
      c.set('container', active.scope as IContainer);
      await active.run(() => inRequestContext(() => servedBy(c), next));
      active.failure = c.error;
      if (c.error) publishFailure(c.error);
      if (c.finalized) active.respondedWith(c.res.status);
      return;
    }
    const toServe = { request: c, context: undefined, ...clientOf(c.req.raw, executionContextOf(c)) };
    const followed = await respondInScope(scopes, toServe, async (active) => {
      c.set('container', active.scope as IContainer);
      await inRequestContext(() => servedBy(c), next);
      active.failure = c.error;
      if (c.error) publishFailure(c.error);
      return c.res;
    });
    if (followed !== c.res) replaceResponse(c, followed);
  };

  return Object.defineProperties(middleware, {
    drain: { value: (draining?: DrainRequestsOptions) => scopes.drain(draining) },
    openRequests: { get: () => scopes.openRequests },
  }) as ContainerMiddleware;
}

/** In older versions a transaction cannot take a response back. Contexts had `jsonT()` until version 4, and `req.raw` since 3. */
function checkVersion(c: Context): true {
  const { raw } = c.req as Partial<typeof c.req>;
  if (raw && !('jsonT' in c)) return true;
  throw new HttpError('AMBIT_OPTION', 'containerMiddleware() of @ambit/hono needs Hono 4.6 or later');
}

/** The last route that matches is that of the handler, unless only middleware does. */
function servedBy({ req }: Context): ServedRequest {
  // oxlint-disable-next-line typescript/no-deprecated -- its successor came with Hono 4.8
  const route = req.matchedRoutes.at(-1)?.path;
  return { method: req.method, url: req.path, route: route?.includes('*') ? undefined : route };
}

/** Hono would merge the two, and read the first. */
function replaceResponse(c: Context, response: Response): void {
  c.res = undefined;
  c.res = response;
}

/** Hono throws where its host has none, as on Bun and Deno. */
function executionContextOf(c: Context): Context['executionCtx'] | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

/** The options of the transaction of a route, and when its response rolls back. */
export type WithTransactionOptions = RequestTransactionOptions<Context>;

/**
 * Runs the handlers behind it in a transaction, with its scope as `c.get('transactionScope')`. COMMIT succeeds before the
 * response is sent. A handler that throws, a response of a status that `rollbackOn` names, a client that leaves and the time
 * limit roll back; what fails goes to `app.onError()`.
 *
 * @param options - those of `beginTransaction()`, and `rollbackOn`
 * @returns the middleware, to mount on the route
 * @throws `HttpError` or `TransactionError` `AMBIT_OPTION`: an option is invalid; per request
 *   `AMBIT_TX_ALREADY_OPEN`: the request has a transaction already
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
  const prepare = prepareTransactionOptions(options);
  const run: MiddlewareHandler = async (c, next) => {
    if (c.get('transactionScope')) throw new HttpError('AMBIT_TX_ALREADY_OPEN');
    const transaction = new RequestTransaction(
      requestScopeOf(c),
      prepare(c),
      () => c.req.raw.signal,
      hasUnreadBody(c.req.raw),
    );
    try {
      const { scope } = await transaction.begun;
      c.set('transactionScope', scope);
      await transaction.run(next);
      // The application's error handler has responded already.
      if (c.error) await transaction.rollbackFor(c.res.status, c.error);
      // Hono throws where a handler returned nothing; to read its response would make one.
      else if (!c.finalized) await transaction.rollback(new HttpError('AMBIT_HTTP_NO_RESPONSE'));
      else await transaction.complete(c.res.status);
    } catch (error) {
      await transaction.rollback(error);
      takeBackResponse(c);
      if (!transaction.active?.isOfDisconnect(error)) throw error;
      c.res = responseToNobody();
    } finally {
      c.set('transactionScope', undefined);
    }
  };
  return (c, next) => inOwnContext(run, c, next);
}

/** Hono would merge the headers of the handler's response into those of the error handler's. */
function takeBackResponse(c: Context): void {
  if (!c.finalized) return;
  discard(c.res);
  c.res = undefined;
  c.finalized = false;
  clearRepresentation({ removeHeader: (name) => c.header(name, undefined) });
}
