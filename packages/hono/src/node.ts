import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ActiveRequest, RequestScopes } from '@ambit/http/host';
import { affordableRequests, ConnectedRequest, ServerConnections, RequestHost } from '@ambit/http/node';
import type { Context } from 'hono';

/** The number of requests that are taken on. */
export interface SocketLimits {
  /**
   * How many requests may be in progress. A further one fails with `AMBIT_HTTP_OVERLOADED`. Default: on Node one for each 64 KB of the
   * heap's limit, elsewhere no limit.
   */
  readonly maxRequests?: number;
  /**
   * On Node, how many requests of one connection may have arrived and not be responded to. One that a client pipelines beyond that gets no
   * scope: the connection closes when those before it are responded to. Default 16.
   */
  readonly maxRequestsPerConnection?: number;
}

/** The requests that came through a socket of Node, which knows when their clients leave. */
export class Sockets {
  /** The default of `maxRequests`. */
  static readonly maxRequests: number = affordableRequests();
  readonly #host: RequestHost;

  constructor(scopes: RequestScopes<Context>, limits: Pick<SocketLimits, 'maxRequestsPerConnection'>) {
    ServerConnections.watch();
    this.#host = new RequestHost(scopes, limits);
  }

  /**
   * The request with its scope, at once where nothing has to be waited for. Undefined where it came through no socket, or through one
   * of another runtime.
   *
   * @param c - the context of the request; its bindings are those of Hono's server for Node
   */
  open(c: Context): ActiveRequest | Promise<ActiveRequest> | undefined {
    const { incoming, outgoing } = Object(c.env) as { incoming?: IncomingMessage; outgoing?: ServerResponse };
    if (!incoming || !outgoing) return undefined;
    const request = new ConnectedRequest(incoming, outgoing, this.#host, c);
    let outcome: { readonly error: unknown } | undefined;
    let settle = (error: unknown): void => {
      outcome = { error };
    };
    request.open((error) => settle(error));
    if (outcome) return opened(request, outcome.error);
    return new Promise<unknown>((resolve) => {
      request.onDisconnect(resolve);
      settle = resolve;
    }).then((error) => opened(request, error));
  }
}

function opened(active: ActiveRequest, error: unknown): ActiveRequest {
  active.throwIfDisconnected();
  active.failure = error;
  if (error !== undefined) throw error as Error;
  return active;
}
