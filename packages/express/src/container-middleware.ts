import {
  ActiveRequest,
  checkFunctions,
  Connections,
  Load,
  type LoadOptions,
  type ParentScope,
  report,
  type RequestHost,
  type RequestOptions,
  scopeOpener,
} from '@ambit/http/host';
import type { Request, Response } from 'express';
import { observeRoutersIfUsed } from './express-internals.js';
import type { Middleware } from './request.js';
import { shareShapes } from './shapes.js';

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
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an option is invalid
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
  const { onDisposeError } = options;
  const opener = scopeOpener(container, {
    ...options,
    caller: 'containerMiddleware()',
    requestOf: ({ req }) => req as Request,
  });
  checkFunctions(options, 'onDisposeError', 'isEssential');
  Connections.watch();
  const host: RequestHost = {
    load: new Load(options),
    onDisposeError: (error, { req }) => report(onDisposeError, error, req as Request),
  };
  return function openContainer(incoming, outgoing, next) {
    const [req, res] = [incoming as Request, outgoing as Response];
    shareShapes(req, res);
    observeRoutersIfUsed(req);
    const request = new ActiveRequest(req, res, host);
    request.open(opener, (error) => {
      if (request.scope) req.container = request.scope;
      next(error);
    });
  };
}
