import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import {
  type ActiveRequest,
  checkCount,
  HttpError,
  type ParentScope,
  RequestScopes,
  type RequestScopesOptions,
} from './host/index.js';
import { ServerConnections } from './server-connections.js';

/** How many requests a host takes on; the options of every host. */
export interface LoadOptions {
  /**
   * How many requests may be in progress in the application. A further one is refused with `AMBIT_HTTP_OVERLOADED`, which
   * is 503 with `Retry-After`. Default: one for each 64 KB of the heap's limit, for example 8,192 for 512 MB.
   */
  readonly maxRequests?: number;
  /**
   * How many requests of one connection may be in progress. Further ones that the client pipelines wait and do not count
   * as in progress; what comes behind 16 that wait is not parsed until some of them have begun. Default 10.
   */
  readonly maxRequestsPerConnection?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: IncomingMessage) => boolean;
}

/** A request that waits for the database holds about 15 to 30 KB. */
const HEAP_PER_REQUEST = 65_536;

/** How much of the heap's limit the bytes may take that clients have sent and that are not parsed yet. */
const UNPARSED_SHARE = 1 / 16;

/** So many that one is always ready, and that a server which closes responds to what a client may well have sent before. */
const MOST_AHEAD = 16;

/** Beyond the first of each connection: so many that they keep a database's pool busy, and that others do not stand behind hundreds. */
const MOST_PIPELINED = 32;

/** How long pipelined requests may keep the event loop busy before everybody else has a turn. */
const SLICE_MS = 10;

/**
 * How many requests the heap has room for: one for each 64 KB of its limit.
 *
 * @returns the default of `maxRequests`
 *
 * @example
 * ```ts
 * import { affordableRequests } from '@ambit/http/node';
 *
 * const maxRequests = affordableRequests() / 2; // two applications share this process
 * ```
 */
export function affordableRequests(): number {
  return Math.ceil(getHeapStatistics().heap_size_limit / HEAP_PER_REQUEST);
}

/** The framework's part of the options. */
interface FrameworkOptions {
  /** The host calls `finish()` when a response was sent. Default: the events of the response do. */
  readonly callsFinish?: true;
  /** For a framework whose server is known before its first request. Default: found by the socket. */
  readonly connections?: ServerConnections;
  /** Whether nobody takes the rest of a response, where no event says so. */
  readonly isAbandoned?: (res: ServerResponse) => boolean;
}

/** How a host opens the scopes of its requests, and how many it takes on. */
export interface RequestHostOptions<Request>
  extends FrameworkOptions, RequestScopesOptions<Request>, Pick<LoadOptions, 'maxRequestsPerConnection'> {}

/**
 * Serves all requests of one middleware, plugin or handler: opens their scopes, and limits how many are in progress or wait for
 * their turn.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { RequestHost } from '@ambit/http/node';
 *
 * const app = new Container({ tags: ['application'] });
 * const host = RequestHost.over(app, { maxRequests: 500 }, 'middleware()');
 * ```
 */
export class RequestHost {
  /** Opens their scopes, and counts them. */
  readonly scopes: RequestScopes<never, never>;
  /** @internal */
  readonly framework: FrameworkOptions;
  /** @internal */
  readonly maxPerConnection: number;
  readonly #mostWaiting = affordableRequests() / 4;
  #waiting = 0;
  #pipelined = 0;
  /** Of connections that wait until fewer pipelined requests are in progress: the functions that schedule their turns. */
  readonly #waitingForTurn = new Set<() => void>();
  #unparsedLeft = getHeapStatistics().heap_size_limit * UNPARSED_SHARE;
  readonly #soon: (() => void)[] = [];
  /** When the first of them was called in this iteration of the event loop. */
  #sliceSince: number | undefined = undefined;

  /**
   * Serves with scopes that exist; {@link RequestHost.over} makes them.
   *
   * @param scopes - opens the scopes of the requests, and counts them
   * @param options - the limit of pipelined requests, and what the framework adds
   * @throws `HttpError` `AMBIT_OPTION`: the limit is no whole number from 1 on
   */
  constructor(
    scopes: RequestScopes<never, never>,
    options: FrameworkOptions & Pick<LoadOptions, 'maxRequestsPerConnection'> = {},
  ) {
    const { maxRequestsPerConnection = 10 } = options;
    checkCount('maxRequestsPerConnection', maxRequestsPerConnection);
    this.scopes = scopes;
    this.framework = options;
    this.maxPerConnection = maxRequestsPerConnection;
  }

  /**
   * Checks the options when the application starts.
   *
   * @param parent - the application container, or a function of the request that returns the scope above the request's
   * @param options - those of the application, and what the framework adds. Default: as many requests as the heap has room for, and 10 per
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
    return new RequestHost(new RequestScopes(refuse, {}, caller));
  }

  /**
   * @internal Whether the request may wait for its turn on its connection; if so, `endWait()` must follow once.
   */
  wait({ request }: ActiveRequest): boolean {
    if (this.#waiting >= this.#mostWaiting && !this.scopes.isEssential(request as never)) return false;
    this.#waiting += 1;
    return true;
  }

  /** @internal How many requests of a connection are parsed that are not in progress. */
  get maxAhead(): number {
    return this.#waiting < this.#mostWaiting ? MOST_AHEAD : 0;
  }

  /** @internal Whether so many pipelined requests are in progress that no further one begins beside another of its connection. */
  get isFull(): boolean {
    return this.#pipelined >= MOST_PIPELINED;
  }

  /** @internal Calls `schedule` once, when fewer pipelined requests are in progress. First come, first served. */
  onTurn(schedule: () => void): void {
    this.#waitingForTurn.add(schedule);
  }

  /** @internal A pipelined request begins beside others of its connection; `releaseTurn()` must follow once. */
  takeTurn(): void {
    this.#pipelined += 1;
  }

  /** @internal */
  releaseTurn(): void {
    this.#pipelined -= 1;
    const [schedule] = this.#waitingForTurn;
    if (!schedule) return;
    this.#waitingForTurn.delete(schedule);
    schedule();
  }

  /** @internal It needs no turn, or its connection has closed. */
  forget(schedule: () => void): void {
    this.#waitingForTurn.delete(schedule);
  }

  /** @internal */
  endWait(): void {
    this.#waiting -= 1;
  }

  /**
   * @internal Counts bytes that are kept unparsed; `release()` must follow once. Returns whether there may be more.
   */
  keep(bytes: number): boolean {
    this.#unparsedLeft -= bytes;
    return this.#unparsedLeft > 0;
  }

  /** @internal */
  release(bytes: number): void {
    this.#unparsedLeft += bytes;
  }

  /**
   * @internal Calls `act` for a connection that pipelines, when other connections and timers have had their turn. Each such connection
   * comes once in a while: first come, first served.
   */
  soon(act: () => void): void {
    this.#soon.push(act);
    setImmediate(this.#actNext);
  }

  /** Between two of these, Node runs all that the first has resolved: it is the work of the request that has begun, too. */
  readonly #actNext = (): void => {
    if (this.#sliceSince === undefined) {
      this.#sliceSince = performance.now();
      // In the next iteration of the event loop, before all that is put off until then.
      setImmediate(() => (this.#sliceSince = undefined));
    } else if (performance.now() - this.#sliceSince > SLICE_MS) {
      setImmediate(this.#actNext);
      return;
    }
    this.#soon.shift()?.();
  };
}
