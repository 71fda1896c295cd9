import type { IncomingMessage } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { checkCount } from '@ambit/host';

/** The same on every host. */
export interface LoadOptions {
  /**
   * How many requests may be in progress in the application. A further one is refused with `AMBIT_HTTP_OVERLOADED`, which
   * is 503 with `Retry-After`. Default: one for each 64 KB of the heap's limit, for example 8,192 for 512 MB.
   */
  readonly maxRequests?: number;
  /**
   * How many requests of one connection may be in progress. Further ones that the client pipelines wait and do not count
   * as in progress; what the client sends meanwhile is not parsed until they have begun. Default 100.
   */
  readonly maxRequestsPerConnection?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: IncomingMessage) => boolean;
}

/** A request that waits for the database holds about 15 to 30 KB. */
const HEAP_PER_REQUEST = 65_536;

/** How much of the heap's limit the bytes may take that clients have sent and that are not parsed yet. */
const UNPARSED_SHARE = 1 / 16;

/** How long pipelined requests may keep the event loop busy before everybody else has a turn. */
const SLICE_MS = 10;

/**
 * How many requests are in progress or wait for their turn, and whether there may be one more. A host makes one, for all its requests.
 *
 * @example
 * ```ts
 * import { Load, type RequestHost } from '@ambit/http/host';
 *
 * const host: RequestHost = { load: new Load({ maxRequests: 500 }), onDisposeError: console.error };
 * ```
 */
export class Load {
  /**
   * @internal
   */
  readonly maxPerConnection: number;
  readonly #max: number;
  readonly #mostWaiting: number;
  readonly #isEssential: ((request: IncomingMessage) => boolean) | undefined;
  #inProgress = 0;
  #waiting = 0;
  #unparsedLeft = getHeapStatistics().heap_size_limit * UNPARSED_SHARE;
  readonly #soon: (() => void)[] = [];
  /** When the first of them was called in this iteration of the event loop. */
  #sliceSince: number | undefined = undefined;

  /**
   * Reads the limits.
   *
   * @param options - the limits. Default: `maxRequests` by the size of the heap, 100 per connection
   * @throws `HttpError` `AMBIT_HTTP_OPTION`: a limit is no whole number from 1 on
   */
  constructor({ maxRequests, maxRequestsPerConnection = 100, isEssential }: LoadOptions) {
    const affordable = Math.ceil(getHeapStatistics().heap_size_limit / HEAP_PER_REQUEST);
    this.#max = maxRequests ?? affordable;
    this.#mostWaiting = affordable;
    this.maxPerConnection = maxRequestsPerConnection;
    this.#isEssential = isEssential;
    checkCount('maxRequests', this.#max);
    checkCount('maxRequestsPerConnection', maxRequestsPerConnection);
  }

  /**
   * @internal Whether the request is taken on; if so, `leave()` must follow once.
   */
  enter(request: IncomingMessage): boolean {
    if (this.#inProgress >= this.#max && !this.#isEssential?.(request)) return false;
    this.#inProgress += 1;
    return true;
  }

  /**
   * @internal
   */
  leave(): void {
    this.#inProgress -= 1;
  }

  /**
   * @internal Whether the request may wait for its turn on its connection; if so, `endWait()` must follow once.
   */
  wait(request: IncomingMessage): boolean {
    if (this.#waiting >= this.#mostWaiting && !this.#isEssential?.(request)) return false;
    this.#waiting += 1;
    return true;
  }

  /**
   * @internal
   */
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

  /**
   * @internal
   */
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
