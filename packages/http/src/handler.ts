import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { IContainer } from '@ambit/container';
import {
  checkFunctions,
  type ParentScope,
  report,
  type RequestOptions,
  type RequestTransactionOptions,
  responseTo,
  prepareTransactionOptions,
  transactionScopeOf,
} from './request/index.js';
import { inOwnContext, publishFailure } from '@ambit/transaction/host';
import { ConnectedRequest } from './connection.js';
import { beginTransaction, HeldResponse, type HeldResponseOptions } from './held-response.js';
import { type LoadOptions, RequestHost } from './request-host.js';
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
  return transactionScopeOf(req, 'use withTransaction() on the way to this handler');
}

/** How errors are responded to, how scopes are opened, and how many requests are taken on. */
export interface HandlerOptions extends LoadOptions, RequestOptions<IncomingMessage> {
  /**
   * Responds where a handler failed. Default: 500, or the `statusCode` or `status` of the error, with `{ "error": ... }` in JSON; errors
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
 * @throws `HttpError` `AMBIT_OPTION`: an option is invalid
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
  const { onError } = options;
  checkFunctions(options, 'onError');
  const host = RequestHost.over(container, options, 'createHandler()');
  const fail = async (error: unknown, request: ConnectedRequest): Promise<void> => {
    const { req, res } = request;
    request.failure = error;
    if (request.isOfDisconnect(error)) return;
    publishFailure(error);
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
    request.open((error) => {
      const { scope } = request;
      if (!scope || error) return void fail(error, request);
      const scoped = req as ScopedRequest;
      scoped.container = scope;
      return call(request, scoped, res);
    });
  };
  return serve as HttpListener;
}

/** The options of the transaction of a handler, and when its response rolls back. */
export interface WithTransactionOptions
  extends RequestTransactionOptions<ScopedRequest>, HeldResponseOptions<ScopedRequest> {}

/**
 * Runs a handler in a transaction, and calls it with the scope of the transaction. The response is held back until COMMIT
 * has succeeded. A handler that fails, and a client that leaves, roll back at once.
 *
 * @param handler - the handler that needs a transaction
 * @param options - the options of the transaction
 * @returns a handler for `createHandler()`
 * @throws `HttpError` or `TransactionError` `AMBIT_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import type { IContainer } from '@ambit/container';
 * import type { IConnection } from '@ambit/transaction';
 *
 * declare const container: IContainer;
 * const placeOrder = withTransaction(async (_req, res, scope) => {
 *   await scope.resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES ($1)', ['42']);
 *   res.writeHead(201).end();
 * });
 * createServer(createHandler(container, placeOrder)).listen(3000);
 * ```
 */
export function withTransaction(handler: Handler, options: WithTransactionOptions = {}): Handler {
  checkFunctions(options, 'onSecondResponse');
  const prepare = prepareTransactionOptions(options);
  const host = RequestHost.withoutScopes('withTransaction()');
  const begin: Handler = async (req, res, scope) => {
    const transaction = await beginTransaction(req, res, scope, prepare(req), host);
    req.transactionScope = transaction.scope;
    let release!: () => void;
    let refuse!: (error: unknown) => void;
    const released = new Promise<void>((resolve, reject) => {
      release = resolve;
      refuse = reject;
    });
    const held = new HeldResponse(req, res, transaction, {
      handle: refuse,
      report: (error) => report(options.onSecondResponse, error, req),
      onReleased: release,
    });
    const call = async (): Promise<void> => {
      try {
        await held.run(() => handler(req, res, transaction.scope));
      } catch (error) {
        held.fail(error);
        // The handler is done: what responds now is `onError`.
        held.isHandlingError = true;
        if (held.isReplaced) held.reportLate(error);
        else if (!held.hold(refuse, error)) throw error;
      }
    };
    await Promise.all([call(), released]);
  };
  return function transaction(req, res, scope) {
    return inOwnContext(begin, req, res, scope);
  };
}

/** A client that has got a part of a response learns of the failure only from a closed connection. */
function respondOrReport(res: ServerResponse, error: unknown): void {
  if (res.headersSent || !responseTo(error).isExpected) report(undefined, error, undefined);
  if (!res.headersSent) respondPlainly(res, error);
  else if (!res.writableEnded) res.destroy();
}
