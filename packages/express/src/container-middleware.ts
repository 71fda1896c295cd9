import type { IContainer } from '@ambit/container';
import type { Request, RequestHandler } from 'express';
import { watchConnections } from './connections.js';
import { HttpError } from './errors.js';
import { observeRoutersIfUsed } from './express-internals.js';
import { Load, type LoadOptions } from './load.js';
import { checkContainer, checkFunctions } from './options.js';
import { report } from './report.js';
import { RequestLife } from './request-life.js';
import { shareShapes } from './shapes.js';

export interface ContainerMiddlewareOptions extends LoadOptions {
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, req: Request) => void;
}

/**
 * Opens a scope tagged `request` for every request, attaches it as `req.container`, and ends it once: when the answer
 * is sent, or when the client is gone. Mount it first, before the body parser.
 *
 * In the scope, `IRequestSignal` is an `AbortSignal` that aborts when the client is gone.
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
  { onDisposeError, ...options }: ContainerMiddlewareOptions = {},
): RequestHandler {
  checkContainer(appContainer, 'createScope', 'containerMiddleware()');
  checkFunctions({ onDisposeError, ...options }, 'onDisposeError', 'isEssential');
  watchConnections();
  const load = new Load(options);
  return function container(req, res, next) {
    shareShapes(req, res);
    observeRoutersIfUsed(req);
    let scope: IContainer | undefined;
    const end = (): void => {
      if (scope) dispose(scope, (error) => report(onDisposeError, error, req));
    };
    const life = new RequestLife(req, res, end);
    life.inTurn(load, (isTaken) => {
      if (!isTaken) {
        res.setHeader('retry-after', '1');
        return next(new HttpError('AMBIT_HTTP_OVERLOADED'));
      }
      try {
        req.container = scope = appContainer.createScope({ tags: ['request'] });
        scope.register('IRequestSignal', () => life.signal);
      } catch (error) {
        return next(error);
      } finally {
        if (life.ended) end();
      }
      next();
    });
  };
}

/** Runs in an event listener, where neither a throw nor a rejection has anywhere to go. */
function dispose(scope: IContainer, onError: (error: unknown) => void): void {
  try {
    const ending = scope.dispose();
    if (ending) ending.then(undefined, onError);
  } catch (error) {
    onError(error);
  }
}
