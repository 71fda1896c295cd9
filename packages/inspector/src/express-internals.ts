import type { Request } from 'express';

type Declared = RegExp | string | readonly (RegExp | string)[];

/** A layer of a router. None of it is documented; all of it is read in this file only. */
interface Layer {
  readonly route?: unknown;
  readonly handle?: { readonly stack?: readonly Layer[] };
  /** The path as it was declared, from router 2.3 on. */
  readonly rawPath?: Declared;
  readonly matchers?: readonly ((path: string) => { readonly path: string } | false)[];
  readonly slash?: boolean;
}
interface Application {
  readonly parent?: Application;
  readonly mountpath: string | readonly string[];
  readonly router?: { readonly stack: readonly Layer[] };
  /** Set by Express 4, which does not say what was declared, and throws at `router`. */
  readonly _router?: unknown;
}

/** The placeholder of a value of the request. */
const SOMETHING = ':…';

/**
 * The route of a request as it was declared, with those of the routers around it: `/tenants/:tenant/orders/:id`. No part of it is a
 * value of the request: where Express does not say what was declared, the part is `:…`.
 *
 * @param req - the request
 * @returns undefined until the router has matched a route
 */
export function routeOf(req: Request): string | undefined {
  const { app, originalUrl, route } = req as unknown as {
    app: Application;
    originalUrl: string;
    route?: { path?: Declared };
  };
  if (route?.path === undefined) return undefined;
  const below = textOf(route.path);
  const asked = originalUrl.split('?', 1)[0] ?? '';
  const mounted = partsOf(asked).length > partsOf(below).length ? `/${SOMETHING}` : '';
  const parts = partsOf((mountOf(app, route, asked) ?? mounted) + below);
  return `/${parts.join('/')}`;
}

/** The declared paths of the routers from the application to the route, if they can be found. */
function mountOf(app: Application, route: object, path: string): string | undefined {
  const outside = app.parent ? textOf(app.mountpath) : '';
  const inside = `/${partsOf(path).slice(partsOf(outside).length).join('/')}`;
  const found = app._router === undefined && app.router ? wayTo(route, app.router.stack, inside) : undefined;
  return found === undefined ? undefined : outside + found;
}

/** The declared patterns of the layers that take the path, one after the other, until the route takes its rest. */
function wayTo(route: object, stack: readonly Layer[], path: string): string | undefined {
  for (const { route: own, handle, rawPath = [], matchers = [], slash } of stack) {
    const taken = slash ? '' : matchers.map((match) => match(path || '/')).find((found) => found !== false)?.path;
    if (taken === undefined) continue;
    if (own === route) return '';
    const rest = handle?.stack && wayTo(route, handle.stack, path.slice(taken.length));
    if (rest !== undefined) return (slash ? '' : textOf(rawPath)) + rest;
  }
  return undefined;
}

/** A pattern is shown as its text; an expression, or a choice of several, is not. */
const textOf = (declared: Declared): string => (typeof declared === 'string' ? declared : `/${SOMETHING}`);

const partsOf = (path: string): string[] => path.split('/').filter(Boolean);
