import type { Request, RequestHandler } from 'express';
import { Inspector } from './inspector.js';
import type { InspectorOptions } from './options.js';
import { shareShapes } from './shapes.js';

/**
 * Serves the inspector at its path. Mount it before `containerMiddleware`, so that looking opens no request scope.
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
    if (inspected.owns(req)) inspected.handle(req, res);
    else if (inspected.watching) inspected.follow({ raw: req, route: () => routeOf(req) }, res, next);
    else {
      shareShapes(req, res);
      next();
    }
  };
}

/** The same as {@link inspectorMiddleware}, under the name it had first. @alias */
export const inspector = inspectorMiddleware;

/** Nothing until the router has found it. */
function routeOf({ baseUrl, originalUrl, route }: Request): string | undefined {
  const { path } = (route ?? {}) as { path?: RegExp | string | readonly string[] };
  if (path === undefined) return undefined;
  const below = path === '/' ? [] : String(path).split('/').slice(1);
  const asked = (originalUrl.split('?', 1)[0] ?? '').split('/').slice(1);
  // An error that left the router took along where it was mounted, which is what comes before the route.
  const mount = baseUrl === '' ? asked.slice(0, Math.max(0, asked.length - below.length)) : baseUrl.split('/').slice(1);
  const parts = [...mount.filter((part) => part !== '').map(withoutValue), ...below];
  return `/${parts.join('/')}`;
}

/** A router may be mounted below a parameter. */
function withoutValue(part: string): string {
  return /\d|%|@/.test(part) || part.length > 30 ? ':…' : part;
}
