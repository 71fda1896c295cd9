import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** Headers as a propagator reads them. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

const REQUEST_START = 'http.server.request.start';

/**
 * The headers of the request that Node is passing to its listeners right now. Hosts open the request scope in the same turn of
 * the event loop, so the `traceparent` of the request is found here if no HTTP instrumentation has made a span of it.
 */
export class IncomingRequest {
  #headers: Headers | undefined;

  get headers(): Headers | undefined {
    return this.#headers;
  }

  start(): void {
    subscribe(REQUEST_START, this.#note);
  }

  stop(): void {
    unsubscribe(REQUEST_START, this.#note);
    this.#headers = undefined;
  }

  readonly #note = (message: unknown): void => {
    this.#headers = (message as { request: { headers: Headers } }).request.headers;
    process.nextTick(this.#forget);
  };

  readonly #forget = (): void => {
    this.#headers = undefined;
  };
}
