import type { IContainer } from '@ambit/container';
import type { Request, RequestHandler } from 'express';
import { watchConnections } from './connections.js';
import { report } from './report.js';
import { RequestLife } from './request-life.js';
import { shareShapes } from './shapes.js';

export interface ContainerMiddlewareOptions {
  /** Told of a request scope that did not end well. Default: `console.error`. */
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
  { onDisposeError }: ContainerMiddlewareOptions = {},
): RequestHandler {
  watchConnections();
  return function container(req, res, next) {
    shareShapes(req, res);
    const scope = appContainer.createScope({ tags: ['request'] });
    const end = (): void => dispose(scope, (error) => report(onDisposeError, error, req));
    req.container = scope;
    try {
      // Before the life begins: it may be over at once.
      scope.register('IRequestSignal', () => life.signal);
    } catch (error) {
      // No life will end it.
      end();
      throw error;
    }
    const life = new RequestLife(req, res, end);
    next();
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
