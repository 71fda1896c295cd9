import { context, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  type DataPoint,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';

propagation.setGlobalPropagator(new W3CTraceContextPropagator());
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const FOREVER_MS = 2 ** 31 - 1;

/** The SDK as an application would set it up; exporters keep what they are given, unless there are others. */
export class Telemetry {
  readonly #spans = new InMemorySpanExporter();
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;

  constructor(spans: SpanExporter = this.#spans, exporter: PushMetricExporter = this.#metrics) {
    this.tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: FOREVER_MS });
    this.meterProvider = new MeterProvider({ readers: [reader] });
  }

  get providers(): Pick<Telemetry, 'tracerProvider' | 'meterProvider'> {
    const { tracerProvider, meterProvider } = this;
    return { tracerProvider, meterProvider };
  }

  get spans(): ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  span(name: string): ReadableSpan | undefined {
    return this.spans.find((span) => span.name === name);
  }

  /** Every value of a metric, with its attributes. */
  async values(name: string): Promise<Pick<DataPoint<unknown>, 'attributes' | 'value'>[]> {
    this.#metrics.reset();
    await this.meterProvider.forceFlush();
    return this.#metrics
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ attributes, value })));
  }

  async shutdown(): Promise<void> {
    await this.tracerProvider.shutdown();
    await this.meterProvider.shutdown();
  }
}
