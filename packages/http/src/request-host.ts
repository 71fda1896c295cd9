import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { checkCount, HttpError, type ParentScope, RequestScopes, type RequestScopesOptions } from './request/index.js';
import { ServerConnections } from './server-connections.js';

/** How many requests a host takes on; the options of every host. */
export interface LoadOptions {
  /**
   * How many requests may be in progress in the application. A further one is refused with `AMBIT_HTTP_OVERLOADED`, which
   * is 503 with `Retry-After`. Default: one for each 64 KB of the heap's limit, for example 8,192 for 512 MB.
   */
  readonly maxRequests?: number;
  /**
   * How many requests of one connection may have arrived and not be responded to. One that a client pipelines beyond that gets no scope and
   * no response: the connection closes when those before it are responded to, and the client may repeat it. Default 16.
   */
  readonly maxRequestsPerConnection?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: IncomingMessage) => boolean;
}

/** A request that waits for the database holds about 15 to 30 KB. */
const HEAP_PER_REQUEST = 65_536;

/**
 * How many requests the heap has room for: one for each 64 KB of its limit.
 *
 * @returns the default of `maxRequests`
 */
export function affordableRequests(): number {
  return Math.ceil(getHeapStatistics().heap_size_limit / HEAP_PER_REQUEST);
}

interface FrameworkOptions {
  /** The host calls `complete()` when a response was sent. Default: the events of the response do. */
  readonly callsComplete?: true;
  /** For a framework whose server is known before its first request. Default: found by the socket. */
  readonly connections?: ServerConnections;
  /** True if nobody takes the rest of a response, where no event says so. */
  readonly isAbandoned?: (res: ServerResponse) => boolean;
}

/** How a host opens the scopes of its requests, and how many it takes on. */
export interface RequestHostOptions<Request>
  extends FrameworkOptions, RequestScopesOptions<Request>, Pick<LoadOptions, 'maxRequestsPerConnection'> {}

/**
 * Serves all requests of one middleware, plugin or handler: opens their scopes, and limits how many are in progress.
 */
export class RequestHost {
  /** Opens their scopes, and counts them. */
  readonly scopes: RequestScopes<never, never>;
  /** @internal */
  readonly framework: FrameworkOptions;
  /** @internal */
  readonly maxPerConnection: number;

  /**
   * Serves with scopes that exist; {@link RequestHost.over} makes them.
   *
   * @param scopes - opens the scopes of the requests, and counts them
   * @param options - the limit of each connection, and what the framework adds
   * @throws `HttpError` `AMBIT_OPTION`: the limit is no whole number from 1 on
   */
  constructor(
    scopes: RequestScopes<never, never>,
    options: FrameworkOptions & Pick<LoadOptions, 'maxRequestsPerConnection'> = {},
  ) {
    const { maxRequestsPerConnection = 16 } = options;
    checkCount('maxRequestsPerConnection', maxRequestsPerConnection);
    this.scopes = scopes;
    this.framework = options;
    this.maxPerConnection = maxRequestsPerConnection;
  }

  /**
   * Checks the options when the application starts.
   *
   * @param parent - the application container, or a function of the request that returns the scope above the request's
   * @param options - those of the application, and what the framework adds. Default: as many requests as the heap has room for, and 16 per
   *   connection
   * @param caller - what the errors of invalid options name, such as `middleware()`
   * @returns the host
   * @throws `HttpError` `AMBIT_OPTION`: an option is invalid
   */
  static over<Request>(
    parent: ParentScope<Request>,
    options: RequestHostOptions<Request>,
    caller: string,
  ): RequestHost {
    ServerConnections.watch();
    const { maxRequests = affordableRequests() } = options;
    return new RequestHost(new RequestScopes(parent, { ...options, maxRequests }, caller), options);
  }

  /**
   * For requests whose scope the application opens by other means than ours: opens none.
   *
   * @param caller - what errors name, such as `withTransaction()`
   * @returns the host
   * @throws `HttpError` `AMBIT_NO_SCOPE`, from a request that is opened without a scope of the application
   */
  static withoutScopes(caller: string): RequestHost {
    const refuse = (): never => {
      throw new HttpError('AMBIT_NO_SCOPE', caller);
    };
    return new RequestHost(new RequestScopes(refuse, {}, caller), { maxRequestsPerConnection: Infinity });
  }
}
