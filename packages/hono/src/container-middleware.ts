import type { IContainer } from '@ambit/container';
import {
  type DrainOptions,
  finishWithBody,
  type RequestOptions,
  RequestScopes,
  responseToNobody,
} from '@ambit/fetch/host';
import { checkCount } from '@ambit/host';
import { Sockets } from '#node';
import type { Context, MiddlewareHandler } from 'hono';
import type { SocketLimits } from './node.js';

/** How scopes are opened, how many requests are taken on, and who is notified of a disposal that failed. */
export type ContainerMiddlewareOptions = RequestOptions<Context> & SocketLimits;

/** The middleware, and what a graceful shutdown needs of it. */
export interface ContainerMiddleware extends MiddlewareHandler {
  /**
   * Resolves when no request scope is open. Stop the server's listening first; on Node, with `drain(server)` of @ambit/http.
   *
   * @param options - how long to wait. Default: 10 s
   * @throws `HttpError` `AMBIT_HTTP_DISPOSE_TIMEOUT`: scopes are still open after `timeoutMs`; `AMBIT_HTTP_OPTION`: that is no number
   */
  drain(options?: DrainOptions): Promise<void>;
  /** How many request scopes are not disposed yet. */
  readonly openRequests: number;
}

/**
 * Opens a scope tagged `request` for every request as `c.get('container')`, and disposes it once: on Node when the response
 * is sent or the client has disconnected, as its socket tells; elsewhere when the response body has been read to its end, has failed
 * or is cancelled, or when `c.req.raw.signal` aborts. Mount it first.
 *
 * In the scope, `IRequestSignal` is an `AbortSignal` that aborts when the client leaves before it has the whole response.
 *
 * @param container - the application container, or a function of the context that gives the parent scope
 * @param options - how scopes are opened, how many requests are taken on, and who is notified of a disposal that failed
 * @returns the middleware, with `drain()` for a graceful shutdown
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an argument or an option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.use(containerMiddleware(new Container({ tags: ['application'] })));
 * app.get('/disconnected', (c) => c.json(c.get('container').resolve('IRequestSignal').aborted));
 * ```
 */
export function containerMiddleware(
  container: IContainer | ((c: Context) => IContainer | Promise<IContainer>),
  options: ContainerMiddlewareOptions = {},
): ContainerMiddleware {
  const { maxRequestsPerConnection, ...others } = options;
  const scopes = new RequestScopes<Context>(container, others, 'containerMiddleware()');
  if (maxRequestsPerConnection !== undefined) checkCount('maxRequestsPerConnection', maxRequestsPerConnection);
  const sockets = new Sockets(limitsOf(options));

  const middleware: MiddlewareHandler = async (c, next) => {
    const admitting = sockets.clientOf(c.env, () => options.isEssential?.(c) ?? false);
    const client = admitting instanceof Promise ? await admitting : admitting;
    if (client) {
      const opening = scopes.open(c, undefined, client);
      const active = opening instanceof Promise ? await opening : opening;
      c.set('container', active.scope);
      await active.run(next);
      active.failure = c.error;
      return;
    }
    const { raw } = c.req;
    const active = await scopes.open(c, undefined, {
      watch: (opened) => opened.watch(raw.signal),
      waitUntil: waitUntilOf(c),
    });
    try {
      c.set('container', active.scope);
      await active.whileClientIsThere(next);
      const { res } = c;
      active.failure = c.error;
      const followed = await finishWithBody(active, raw.method, res);
      if (followed === res) return;
      replaceResponse(c, followed);
    } catch (error) {
      active.finish(error);
      if (!active.disconnectReason) throw error;
      replaceResponse(c, responseToNobody());
    }
  };

  return Object.defineProperties(middleware, {
    drain: { value: (draining?: DrainOptions) => scopes.drain(draining) },
    openRequests: { get: () => scopes.openRequests },
  }) as ContainerMiddleware;
}

/** Hono would merge the two, and read the first. */
function replaceResponse(c: Context, response: Response): void {
  c.res = undefined;
  c.res = response;
}

function limitsOf({ maxRequests, maxRequestsPerConnection }: SocketLimits): SocketLimits {
  return {
    ...(maxRequests === undefined ? {} : { maxRequests }),
    ...(maxRequestsPerConnection === undefined ? {} : { maxRequestsPerConnection }),
  };
}

/** Hono throws where its host has none, as on Bun and Deno. */
function waitUntilOf(c: Context): ((work: Promise<unknown>) => void) | undefined {
  try {
    const { executionCtx } = c;
    return (work) => executionCtx.waitUntil(work);
  } catch {
    return undefined;
  }
}
