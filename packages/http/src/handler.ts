import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { IContainer } from '@ambit/container';
import {
  checkFunctions,
  HttpError,
  isAfterDisconnect,
  type ParentScope,
  report,
  type RequestOptions,
} from '@ambit/host';
import { ConnectedRequest, type RequestHost, scopeOpener } from './connected-request.js';
import { Connections, Load, type LoadOptions } from './connection.js';
import { respondPlainly } from './response-gate.js';

/** A request of `node:http` with its scopes. */
export interface ScopedRequest extends IncomingMessage {
  /** The scope of this request, tagged `request`. It is disposed when the request finishes. */
  container: IContainer;
  /** The scope of the open transaction, tagged `transaction`. Set by `withTransaction()`. */
  transactionScope?: IContainer;
}

/**
 * A handler of `node:http` that is called with the scope of the request, or of its transaction. An error that it throws,
 * or rejects with, is responded to by `onError`.
 */
export type Handler = (req: ScopedRequest, res: ServerResponse, scope: IContainer) => unknown;

/**
 * The scope of the transaction that `withTransaction()` opened for this request.
 *
 * @param req - the request
 * @returns the scope tagged `transaction`
 * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: the request has no open transaction
 *
 * @example
 * ```ts
 * import { type Handler, requireTransactionScope } from '@ambit/http';
 * import type { IConnection } from '@ambit/transaction';
 *
 * const countOrders: Handler = async (req, res) => {
 *   const connection = requireTransactionScope(req).resolve<IConnection>('IConnection');
 *   res.end(JSON.stringify(await connection.query('SELECT count(*) AS orders FROM orders')));
 * };
 * ```
 */
export function requireTransactionScope(req: { readonly transactionScope?: IContainer | undefined }): IContainer {
  const { transactionScope } = req;
  if (transactionScope) return transactionScope;
  throw new HttpError('AMBIT_HTTP_NO_TRANSACTION', 'use withTransaction() on the way to this handler');
}

/** How errors are responded to, how scopes are opened, and how many requests are taken on. */
export interface HandlerOptions extends LoadOptions, RequestOptions<IncomingMessage> {
  /**
   * Responds where a handler failed. Default: 500, or the `statusCode` of the error, with `{ "error": ... }` in JSON; errors
   * of the application are not described to the client, but printed with `console.error`.
   */
  readonly onError?: (error: unknown, req: IncomingMessage, res: ServerResponse) => unknown;
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, req: IncomingMessage) => void;
}

/** Listens for the requests of a server of `node:http`, `node:https` or `node:http2`. */
export interface HttpListener {
  (req: IncomingMessage, res: ServerResponse): void;
  (req: Http2ServerRequest, res: Http2ServerResponse): void;
}

/**
 * A listener for the requests of `node:http`, `node:https` or `node:http2`: it opens a scope tagged `request` for every
 * request, calls the handler with it, and disposes it once, when the response is sent or the client has disconnected.
 *
 * In the scope, `IRequestSignal` is an `AbortSignal` that aborts when the client has disconnected.
 *
 * @param container - the application container, or a function of the request that returns the scope above the request's
 * @param handler - responds to every request
 * @param options - how errors are responded to, how scopes are opened, and how many requests are taken on
 * @returns the listener for `createServer()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { Container } from '@ambit/container';
 *
 * const appContainer = new Container({ tags: ['application'] });
 * const handler = createHandler(appContainer, async (req, res, scope) => {
 *   const signal = scope.resolve('IRequestSignal');
 *   res.end(`${req.url}, and the client is ${signal.aborted ? 'disconnected' : 'connected'}`);
 * });
 * createServer(handler).listen(3000);
 * ```
 */
export function createHandler(
  container: ParentScope<IncomingMessage>,
  handler: Handler,
  options: HandlerOptions = {},
): HttpListener {
  const { onError, onDisposeError } = options;
  const opener = scopeOpener(container, { ...options, caller: 'createHandler()', requestOf: ({ req }) => req });
  checkFunctions(options, 'onError', 'onDisposeError', 'isEssential');
  Connections.watch();
  const host: RequestHost = {
    load: new Load(options),
    onDisposeError: (error, { req }) => report(onDisposeError, error, req),
  };
  const fail = async (error: unknown, request: ConnectedRequest): Promise<void> => {
    const { req, res, isDisconnected } = request;
    request.active.failure = error;
    if (isDisconnected && isAfterDisconnect(error)) return;
    try {
      if (onError) await onError(error, req, res);
      else respondOrReport(res, error);
    } catch (failure) {
      respondOrReport(res, failure);
    }
  };
  const call = (request: ConnectedRequest, req: ScopedRequest, res: ServerResponse): void => {
    try {
      const handling = handler(req, res, req.container) as PromiseLike<unknown> | undefined;
      // An `async` function here would cost a promise for each handler that needs none.
      if (typeof handling?.then === 'function') handling.then(undefined, (error: unknown) => fail(error, request));
    } catch (error) {
      void fail(error, request);
    }
  };
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const request = new ConnectedRequest(req, res, host);
    request.open(opener, (error) => {
      const { scope } = request;
      if (!scope || error) return void fail(error, request);
      const scoped = req as ScopedRequest;
      scoped.container = scope;
      return call(request, scoped, res);
    });
  };
  return serve as HttpListener;
}

/** A client that has got a part of a response learns of the failure only from a closed connection. */
function respondOrReport(res: ServerResponse, error: unknown): void {
  const { statusCode, unavailable } = Object(error) as { statusCode?: unknown; unavailable?: unknown };
  const isExpected = unavailable === true || (typeof statusCode === 'number' && statusCode < 500);
  if (res.headersSent || !isExpected) report(undefined, error, undefined);
  if (!res.headersSent) respondPlainly(res, error);
  else if (!res.writableEnded) res.destroy();
}
