import type { IDatabasePool } from '@ambit/transaction';
import { type MeterProvider, metrics, trace, type TracerProvider } from '@opentelemetry/api';
import { IncomingRequest } from './incoming.js';
import { Metrics } from './metrics.js';
import { watchPool } from './pool-metrics.js';
import { Spans } from './spans.js';
import { listen } from './subscribe.js';

export interface InstrumentOptions {
  /** Default: the one that is registered globally. */
  readonly tracerProvider?: TracerProvider;
  /** Default: the one that is registered globally. */
  readonly meterProvider?: MeterProvider;
  /** Whose connections are counted. */
  readonly pool?: Pick<IDatabasePool, 'size'>;
}

export interface Instrumentation extends Disposable {
  /** Nothing is heard of any more. A span that is open stays so, or where its transaction has ended, ends soon. */
  stop(): void;
}

const NAME = '@ambit/opentelemetry';

/**
 * Makes spans and metrics of every scope and transaction in this process, until stopped. Until it is called, and after
 * it was stopped, nothing is published and nothing costs anything.
 *
 * @example
 * ```ts
 * import type { Container } from '@ambit/container';
 *
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
  const ends = [
    () => incoming.stop(),
    listen(new Spans(tracerProvider.getTracer(NAME), incoming)),
    listen(new Metrics(meter)),
    ...(pool ? [watchPool(meter, pool)] : []),
  ];
  const stop = (): void => {
    for (const end of ends.splice(0)) end();
  };
  return { stop, [Symbol.dispose]: stop };
}
