// An APM (Datadog, Sentry, New Relic, Grafana) needs the SDK of OpenTelemetry, set up before anything else, and its exporter.
import type { Container } from '@ambit/container';
import { instrument } from '@ambit/opentelemetry';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, SimpleSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';

export function observe(app: Container, exporter: SpanExporter): void {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  // Without it the `traceparent` of a request is ignored, and each service has traces of its own.
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const instrumentation = instrument({ pool: app.resolve('IDatabasePool') });
  app.defer(() => instrumentation.stop());
}
