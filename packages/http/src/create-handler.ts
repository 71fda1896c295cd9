import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { checkFunctions, isAfterDisconnect, type ParentScope, report, type RequestOptions } from '@ambit/host';
import { ActiveRequest } from './active-request.js';
import { Connections } from './connections.js';
import { respondPlainly } from './error-response.js';
import { Load, type LoadOptions } from './load.js';
import type { Handler, RequestHost, ScopedRequest } from './request.js';
import { scopeOpener } from './scope-opener.js';

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
  const fail = async (error: unknown, request: ActiveRequest): Promise<void> => {
    const { req, res, isDisconnected } = request;
    request.failure = error;
    if (isDisconnected && isAfterDisconnect(error)) return;
    try {
      if (onError) await onError(error, req, res);
      else respondOrReport(res, error);
    } catch (failure) {
      respondOrReport(res, failure);
    }
  };
  const call = (request: ActiveRequest, req: ScopedRequest, res: ServerResponse): void => {
    try {
      const handling = handler(req, res, req.container) as PromiseLike<unknown> | undefined;
      // An `async` function here would cost a promise for each handler that needs none.
      if (typeof handling?.then === 'function') handling.then(undefined, (error: unknown) => fail(error, request));
    } catch (error) {
      void fail(error, request);
    }
  };
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const request = new ActiveRequest(req, res, host);
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
