import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IDatabasePool } from '@ambit/transaction';
import { type MeterProvider, metrics, trace, type TracerProvider } from '@opentelemetry/api';
import { Metrics, watchOutbox, watchPool } from './metrics.js';
import { type Listener, Spans } from './spans.js';
import { type ObservedDatabase, Statements } from './statements.js';

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

const CHANNELS = {
  scopeOpened: 'ambit:scope:opened',
  scopeClosed: 'ambit:scope:closed',
  instanceDisposed: 'ambit:instance:disposed',
  transactionRefused: 'ambit:transaction:refused',
  transactionAcquired: 'ambit:transaction:acquired',
  statement: 'ambit:transaction:statement',
  statementOutside: 'ambit:statement:outside',
  transactionFinished: 'ambit:transaction:finished',
} as const satisfies Record<keyof Listener, string>;

/** Subscribes each method of the listener to its channel. The returned function unsubscribes them. */
function listen(listener: Listener): () => void {
  const subscriptions = (Object.keys(CHANNELS) as (keyof Listener)[])
    .filter((name) => listener[name] !== undefined)
    .map((name) => {
      const handle = (message: unknown): void => listener[name]?.(message as never);
      return { channel: CHANNELS[name], handle };
    });
  for (const { channel, handle } of subscriptions) subscribe(channel, handle);
  return () => {
    for (const { channel, handle } of subscriptions) unsubscribe(channel, handle);
  };
}

/** Where spans and metrics go, and the connection pool to observe. */
export interface InstrumentOptions {
  /** Makes the spans. Default: the one that is registered globally. */
  readonly tracerProvider?: TracerProvider;
  /** Makes the metrics. Default: the one that is registered globally. */
  readonly meterProvider?: MeterProvider;
  /** The connection pool whose connections are counted. Default: none. */
  readonly pool?: Pick<IDatabasePool, 'size'>;
  /** The database of that pool, which spans and metrics of statements name. Default: `{ system: 'other_sql' }`. */
  readonly database?: ObservedDatabase;
}

/** The instrumentation in progress; `using` stops it at the end of the block. */
export interface Instrumentation extends Disposable {
  /**
   * Unsubscribes from all channels. Open spans stay open, except those of a transaction that is committed or rolled back:
   * they end within ten seconds.
   */
  stop(): void;
}

const NAME = '@ambit/opentelemetry';

/**
 * Creates spans and metrics for every scope and transaction in this process, until `stop()` is called. Before it is called
 * and after `stop()` no channel has a subscriber, so it costs nothing.
 *
 * @param options - where spans and metrics go, and the connection pool to observe
 * @returns the instrumentation, to stop at shutdown
 *
 * @example
 * ```ts
 * import type { Container } from '@ambit/container';
 * import type { IDatabasePool } from '@ambit/transaction';
 *
 * function observe(app: Container): void {
 *   const instrumentation = instrument({ pool: app.resolve<IDatabasePool>('IDatabasePool') });
 *   app.defer(() => instrumentation.stop());
 * }
 * ```
 */
export function instrument(options: InstrumentOptions = {}): Instrumentation {
  const { tracerProvider = trace, meterProvider = metrics, pool, database } = options;
  const statements = new Statements(database);
  const incoming = new IncomingRequest();
  const meter = meterProvider.getMeter(NAME);
  incoming.start();
  const stops = [
    () => incoming.stop(),
    listen(new Spans(tracerProvider.getTracer(NAME), incoming, statements)),
    listen(new Metrics(meter, statements)),
    watchOutbox(meter),
    ...(pool ? [watchPool(meter, pool, statements.poolName)] : []),
  ];
  const stop = (): void => {
    for (const stopOne of stops.splice(0)) stopOne();
  };
  return { stop, [Symbol.dispose]: stop };
}
