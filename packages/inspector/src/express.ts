import type { RequestHandler } from 'express';
import { routeOf } from './express-internals.js';
import { Inspector } from './inspector.js';
import type { InspectorOptions } from './options.js';

/**
 * Serves the inspector at its path. Mount it before `containerMiddleware`, so that requests of the page open no scope.
 *
 * @param options - the container, and where and for whom the page is
 * @returns the middleware; where `enabled` is false, one that does nothing
 * @throws `ContainerError` `AMBIT_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { inspectorMiddleware } from '@ambit/inspector/express';
 * import express from 'express';
 *
 * const app = express();
 * app.use(inspectorMiddleware({ container: new Container({ tags: ['application'] }), scopes: { tags: ['request'] } }));
 * ```
 */
export function inspectorMiddleware(options: InspectorOptions): RequestHandler {
  const inspected = new Inspector(options);
  if (!inspected.enabled) return (_req, _res, next) => next();
  return (req, res, next) => {
    if (inspected.owns(req)) return inspected.handle(req, res);
    if (inspected.watching) inspected.follow({ raw: req, route: () => routeOf(req) }, res, next);
    else next();
  };
}
