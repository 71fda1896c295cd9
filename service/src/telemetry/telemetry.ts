import type { IDatabasePool } from '@ambit/transaction';
import { instrument, type TraceIds, traceIdsOf } from '@ambit/opentelemetry';
import { createNoopMeter, INVALID_SPAN_CONTEXT, trace, type TracerProvider } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Config } from '../config/config.js';
import type { LogOutput } from '../logging/logger.js';

/** The part of telemetry that the hosts use. */
export interface Telemetry {
  /** All metrics in the text format of Prometheus; absent when `/metrics` is off. */
  readonly metrics?: () => Promise<string>;
  /** The trace ids for log lines, if the scope is traced. */
  traceIdsOf(scope: object): TraceIds | undefined;
  stop(): Promise<void>;
}

const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
/** Creates no spans, whatever SDK is installed, and has no ids for the log. */
const noTraces: TracerProvider = {
  getTracer: () => ({
    startSpan: () => noSpan,
    startActiveSpan: (_name: string, ...rest: unknown[]) => (rest.at(-1) as (span: typeof noSpan) => never)(noSpan),
  }),
};

/** Sends spans to the OpenTelemetry SDK that the process was started with, if any, and metrics to `/metrics`. */
export function startTelemetry(
  pool: IDatabasePool,
  { metrics, traces, serviceName }: Pick<Config, 'metrics' | 'traces' | 'serviceName'>,
  log: Pick<LogOutput, 'dropped'> = { dropped: 0 },
): Telemetry {
  const tracerProvider = traces ? trace.getTracerProvider() : noTraces;
  if (!metrics) {
    const instrumentation = instrument({ tracerProvider, meterProvider: { getMeter: createNoopMeter }, pool });
    return { traceIdsOf, stop: async () => instrumentation.stop() };
  }
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const resource = defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName }));
  const meterProvider = new MeterProvider({ resource, readers: [exporter] });
  const instrumentation = instrument({ tracerProvider, meterProvider, pool });
  const meter = meterProvider.getMeter('@ambit/service');
  const dropped = { description: 'Log lines dropped because stdout was blocked', unit: '{line}' };
  meter.createObservableCounter('ambit.log.dropped', dropped).addCallback((result) => result.observe(log.dropped));
  const serializer = new PrometheusSerializer();
  return {
    metrics: async () => serializer.serialize((await exporter.collect()).resourceMetrics),
    traceIdsOf,
    stop: async () => {
      instrumentation.stop();
      await meterProvider.shutdown();
    },
  };
}
