import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ActiveRequest, RequestClient } from '@ambit/host';
import { ConnectedRequest, Connections, Load, type RequestHost, type ScopeOpener } from '@ambit/http/host';

/** How many requests are taken on. */
export interface SocketLimits {
  /**
   * How many requests may be in progress. A further one fails with `AMBIT_HTTP_OVERLOADED`. Default: on Node one for each 64 KB of the
   * heap's limit, elsewhere no limit.
   */
  readonly maxRequests?: number;
  /**
   * On Node, how many requests of one connection may be in progress; further ones that the client pipelines wait. Default
   * 100.
   */
  readonly maxRequestsPerConnection?: number;
}

/** The clients whose requests came through a socket of Node, which knows when they leave. */
export class Sockets {
  readonly #limited: RequestHost;
  readonly #unlimited: RequestHost;

  constructor(limits: SocketLimits) {
    Connections.watch();
    this.#limited = hostWith(new Load(limits));
    this.#unlimited = hostWith(new Load({ ...limits, maxRequests: Infinity }));
  }

  /**
   * The client, as soon as fewer requests of the connection are in progress than the limit. Undefined where the request came through
   * no socket, or through one of another runtime.
   *
   * @param env - the bindings of Hono's server for Node
   * @param isEssential - whether the request counts in no limit
   */
  clientOf(env: unknown, isEssential: () => boolean): RequestClient | Promise<RequestClient> | undefined {
    const { incoming, outgoing } = Object(env) as { incoming?: IncomingMessage; outgoing?: ServerResponse };
    if (!incoming || !outgoing) return undefined;
    const host = isEssential() ? this.#unlimited : this.#limited;
    return new SocketClient(new ConnectedRequest(incoming, outgoing, host)).admitted();
  }
}

function hostWith(load: Load): RequestHost {
  return { load, onDisposeError: () => undefined };
}

/** The request of @ambit/http, without a scope: the middleware opens and disposes that. */
class SocketClient implements RequestClient {
  readonly isAdmitted = true;
  readonly #request: ConnectedRequest;

  constructor(request: ConnectedRequest) {
    this.#request = request;
  }

  /** At once, unless the request has to wait for its turn. */
  admitted(): this | Promise<this> {
    const outcome: { refusal: unknown; isThere: boolean } = { refusal: undefined, isThere: false };
    let settle = (refusal: unknown): void => {
      outcome.refusal = refusal;
      outcome.isThere = true;
    };
    this.#request.open(noScope, (refusal) => settle(refusal));
    if (outcome.refusal instanceof Error) throw outcome.refusal;
    if (outcome.isThere) return this;
    return new Promise((resolve, reject) => {
      settle = (refusal) => (refusal instanceof Error ? reject(refusal) : resolve(this));
    });
  }

  watch(active: ActiveRequest): void {
    this.#request.follow(active);
  }
}

/** The middleware opens it. */
const noScope: ScopeOpener = (_request, done) => done();
