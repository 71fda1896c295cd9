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

/** Since Node 24. */
const ARE_SHARED = Number.parseInt(process.versions.v8, 10) >= 13;

/**
 * Express exchanges the prototypes of every request and response. To older versions of V8 each is then of a shape of its
 * own, which is copied with every property it gets, and which no cache knows: on Node 20 that is a third of all the time
 * a request takes. As dictionaries they share one shape, and an object from which a property is deleted becomes one.
 */
function shareShapes(req: Request, res: Response): void {
  if (ARE_SHARED) return;
  putBack(req, 'res');
  putBack(res, 'req');
}

function putBack<T extends object>(target: T, key: keyof T): void {
  const value = target[key];
  if (Reflect.deleteProperty(target, key)) target[key] = value;
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
