import type { IContainer } from '@ambit/container';
import {
  ActiveRequest,
  checkContainer,
  checkFunctions,
  Connections,
  Load,
  type LoadOptions,
  report,
  type RequestHost,
} from '@ambit/http/host';
import type { Request, RequestHandler } from 'express';
import { observeRoutersIfUsed } from './express-internals.js';
import { shareShapes } from './shapes.js';

export interface ContainerMiddlewareOptions extends LoadOptions {
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, req: Request) => void;
}

/**
 * Opens a scope tagged `request` for every request, attaches it as `req.container`, and disposes it once: when the
 * response is sent, or when the client is gone. Mount it first, before the body parser.
 *
 * In the scope, `IRequestSignal` is an `AbortSignal` that aborts when the client is gone.
 *
 * @param appContainer the application's container
 * @param options how many requests are taken on, and who is notified of a disposal that failed
 * @returns the middleware
 * @throws HttpError `AMBIT_HTTP_OPTION` where an option is invalid
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
  appContainer: IContainer,
  { onDisposeError, ...limits }: ContainerMiddlewareOptions = {},
): RequestHandler {
  checkContainer(appContainer, 'createScope', 'containerMiddleware()');
  checkFunctions({ onDisposeError, ...limits }, 'onDisposeError', 'isEssential');
  Connections.watch();
  const host: RequestHost = {
    load: new Load(limits),
    onDisposeError: (error, { req }) => report(onDisposeError, error, req as Request),
  };
  return function container(req, res, next) {
    shareShapes(req, res);
    observeRoutersIfUsed(req);
    const request = new ActiveRequest(req, res, host);
    request.open(appContainer, (error) => {
      if (request.scope) req.container = request.scope;
      next(error);
    });
  };
}
