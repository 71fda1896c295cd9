import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AbstractClass, Delivered, IContainer, Key, Listed, ServiceMap } from '@ambit/container';
import {
  checkFunctions,
  HttpError,
  isDisconnect,
  type ParentScope,
  report,
  type RequestOptions,
  type RequestTransactionOptions,
  prepareTransactionOptions,
  transactionScopeOf,
} from '@ambit/http/host';
import {
  beginTransaction,
  ConnectedRequest,
  HeldResponse,
  type HeldResponseOptions,
  type LoadOptions,
  RequestHost,
  shareShapes,
} from '@ambit/http/node';
import { inOwnContext } from '@ambit/transaction/host';
import type { Request, RequestHandler, Response } from 'express';
import {
  enter,
  guardNext,
  heldResponseOf,
  observeRouters,
  useTransactions,
  watchFailures,
  wouldSeeFailure,
} from './express-internals.js';

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
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

type Next = (error?: unknown) => void;

/** A request as the helpers need it, whatever its params and body. */
export interface ExpressRequest {
  /** The scope of the request. */
  readonly container: IContainer;
  /** The scope of its open transaction. */
  readonly transactionScope?: IContainer | undefined;
}

function scopeOf(req: Partial<ExpressRequest>, who: string): IContainer {
  if (req.container) return req.container;
  throw new HttpError('AMBIT_NO_SCOPE', who);
}

/** The scope of a handler's services: that of its transaction, as long as it may still work in it. */
function currentScopeOf(req: Partial<ExpressRequest>, who: string): IContainer {
  const { transactionScope } = req;
  return transactionScope && !heldResponseOf(req)?.isOver ? transactionScope : scopeOf(req, who);
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
  return transactionScopeOf(req, 'mount withTransaction() on the route, before this handler');
}

/** How scopes are opened, how many requests are taken on, and who is notified of a disposal that failed. */
export interface ContainerMiddlewareOptions extends LoadOptions, RequestOptions<Request> {
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, req: Request) => void;
}

/**
 * Opens a scope tagged `request` for every request, attaches it as `req.container`, and disposes it once: when the
 * response is sent, or when the client has disconnected. Mount it first, before the body parser.
 *
 * In the scope, `IRequestSignal` is an `AbortSignal` that aborts when the client has disconnected.
 *
 * @param container - the application container, or a function of the request that returns the scope above the request's
 * @param options - how scopes are opened, how many requests are taken on, and who is notified of a disposal that failed
 * @returns the middleware
 * @throws `HttpError` `AMBIT_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import express from 'express';
 *
 * const app = express();
 * app.use(containerMiddleware(new Container({ tags: ['application'] })));
 * ```
 */
export function containerMiddleware(
  container: ParentScope<Request>,
  options: ContainerMiddlewareOptions = {},
): Middleware {
  const host = RequestHost.over(container, options, 'containerMiddleware()');
  return function openContainer(incoming, outgoing, next) {
    const req = incoming as Request;
    shareShapes(incoming, outgoing);
    const request = new ConnectedRequest(req, outgoing, host);
    request.open((error) => {
      const { scope } = request;
      enter(req);
      if (scope) req.container = scope;
      next(error);
    });
  };
}

/** The options of the transaction of a route, and when its response rolls back. */
export interface WithTransactionOptions extends RequestTransactionOptions<Request>, HeldResponseOptions<Request> {}

/**
 * Runs the handlers behind it in a transaction, with its scope as `req.transactionScope`. Their first response is
 * held back until COMMIT has succeeded. A handler that fails, and a client that leaves, roll back at once.
 *
 * @param options - the options of the transaction, and who is notified of what
 * @returns the middleware, to mount on the route
 * @throws `HttpError` or `TransactionError` `AMBIT_OPTION`: an option is invalid
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
  checkFunctions(options, 'onSecondResponse');
  useTransactions();
  const { onSecondResponse } = options;
  const prepare = prepareTransactionOptions(options);
  const host = RequestHost.withoutScopes('withTransaction()');
  const begin = async (req: Request, res: Response, next: Next): Promise<void> => {
    let held: HeldResponse;
    try {
      const scope = scopeOf(req, 'withTransaction()');
      observeRouters(req);
      const transaction = await beginTransaction(req, res, scope, prepare(req), host);
      req.transactionScope = transaction.scope;
      held = new HeldResponse(req, res, transaction, {
        handle: (error) => {
          if (!held.isOfDisconnect(error)) next(error);
        },
        report: (error) => report(onSecondResponse, error, req),
        timeOut: (error) => {
          next(error);
          guardNext(req, () => !held.hasResponse);
        },
        wouldSeeFailure: () => wouldSeeFailure(req),
        // Express takes everything else that `next()` may be called with for no error.
        isError: (given) => Boolean(given) && given !== 'route' && given !== 'router',
      });
      watchFailures(req, held);
    } catch (error) {
      // Nobody waits for a response.
      if (!isDisconnect(error)) next(error);
      return;
    }
    held.run(next);
  };
  return function transaction(req, res, next) {
    void inOwnContext(begin, req as Request, res as Response, next);
  };
}

/** Names, and the keys of the services they stand for. */
export type Deps = Readonly<Record<string, Key>>;

/** The services that go by the names of `D`; `unknown` for a key that `ServiceMap` does not list. */
export type Services<D extends Deps> = { readonly [Name in keyof D]: Delivered<D[Name]> };

/**
 * The instance bound to the key, as seen from the scope of the open transaction behind `withTransaction()`, and from the
 * scope of the request everywhere else: before and after the transaction, and in error handlers.
 *
 * @param req - the request
 * @param key - what to resolve; with `strictKeys`, a string that `ServiceMap` does not list is a compile error
 * @returns the instance
 * @throws `HttpError` `AMBIT_NO_SCOPE`: `containerMiddleware()` did not run. `ContainerError`, as `Container.resolve()`:
 *   the key cannot be resolved
 *
 * @example
 * ```ts
 * import type { Request } from 'express';
 *
 * const isDisconnected = (req: Request): boolean => resolve(req, 'IRequestSignal').aborted;
 * ```
 */
export function resolve<K extends keyof ServiceMap>(req: ExpressRequest, key: K): ServiceMap[K];
export function resolve<T>(req: ExpressRequest, key: AbstractClass<T>): T;
export function resolve<T = unknown, const K extends string | symbol = string | symbol>(
  req: ExpressRequest,
  key: Listed<K>,
): T;
export function resolve(req: ExpressRequest, key: Key): unknown {
  return currentScopeOf(req, 'resolve()').resolve(key as string);
}

/**
 * A handler that is called with its services, from the scope that `resolve()` would use. Whatever it throws, or rejects with, goes
 * to the error handler.
 *
 * @param deps - names, and the keys of the services, checked like that of `resolve()`
 * @param handler - is called with the services under these names
 * @returns a handler for Express
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import express from 'express';
 *
 * declare const container: IContainer;
 * const app = express();
 * app.use(containerMiddleware(container));
 * app.get('/alive', withDeps({ signal: 'IRequestSignal' }, (_req, res, { signal }) => {
 *   res.json({ alive: !signal.aborted });
 * }));
 * ```
 */
export function withDeps<const D extends Deps, P = Request['params']>(
  deps: { readonly [Name in keyof D]: Listed<D[Name]> },
  handler: (req: Request<P>, res: Response, services: Services<D>) => unknown,
): RequestHandler<P> {
  const entries = Object.entries<Key>(deps);
  return (req, res, next) => {
    const fail = (thrown: unknown): void => next(givenReason(thrown));
    try {
      const scope = currentScopeOf(req, 'withDeps()');
      const services = Object.fromEntries(entries.map(([name, key]) => [name, scope.resolve(key as string)]));
      const handling = handler(req, res, services as Services<D>);
      if (isPromiseLike(handling)) handling.then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  };
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** `next(undefined)` would continue with the next handler, so a falsy reason becomes an Error. */
function givenReason(thrown: unknown): unknown {
  if (thrown) return thrown;
  return new Error('The handler failed, and gave no reason', { cause: thrown });
}
