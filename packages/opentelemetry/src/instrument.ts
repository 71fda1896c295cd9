import type { IDatabasePool } from '@ambit/transaction';
import { type MeterProvider, metrics, trace, type TracerProvider } from '@opentelemetry/api';
import { IncomingRequest } from './incoming.js';
import { Metrics } from './metrics.js';
import { watchOutbox } from './outbox-metrics.js';
import { watchPool } from './pool-metrics.js';
import { Spans } from './spans.js';
import { listen } from './subscribe.js';

/** Where spans and metrics go, and the connection pool to observe. */
export interface InstrumentOptions {
  /** Makes the spans. Default: the one that is registered globally. */
  readonly tracerProvider?: TracerProvider;
  /** Makes the metrics. Default: the one that is registered globally. */
  readonly meterProvider?: MeterProvider;
  /** The connection pool whose connections are counted. Default: none. */
  readonly pool?: Pick<IDatabasePool, 'size'>;
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
  const { tracerProvider = trace, meterProvider = metrics, pool } = options;
  const incoming = new IncomingRequest();
  const meter = meterProvider.getMeter(NAME);
  incoming.start();
  const stops = [
    () => incoming.stop(),
    listen(new Spans(tracerProvider.getTracer(NAME), incoming)),
    listen(new Metrics(meter)),
    watchOutbox(meter),
    ...(pool ? [watchPool(meter, pool)] : []),
  ];
  const stop = (): void => {
    for (const stopOne of stops.splice(0)) stopOne();
  };
  return { stop, [Symbol.dispose]: stop };
}
