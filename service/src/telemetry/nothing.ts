import {
  createNoopMeter,
  INVALID_SPAN_CONTEXT,
  type MeterProvider,
  trace,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';

const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

const noTracer: Tracer = {
  startSpan: () => noSpan,
  startActiveSpan: (_name: string, ...rest: unknown[]) => (rest.at(-1) as (span: typeof noSpan) => never)(noSpan),
};

/** For traces that are switched off: creates no spans, whatever SDK is installed, and has no ids for the log. */
export const noTraces: TracerProvider = { getTracer: () => noTracer };

/** Metrics where none are configured. */
export const noMetrics: MeterProvider = { getMeter: createNoopMeter };
