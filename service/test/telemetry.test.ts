import { metrics, trace } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAppContainer, createHost, readConfig, type Service, startService } from '../src/index.js';
import { startTelemetry } from '../src/telemetry/telemetry.js';
import { override } from '@ambit/container/tools';
import { Registration } from '@ambit/container';
import { Happenings } from '@ambit/test-kit';
import type { HostVariant } from './support/app.js';
import { request } from './support/http.js';
import { LogBook } from './support/log-book.js';

const ORDER = { method: 'POST', path: '/api/orders', body: { items: [{ productId: 'apple', quantity: 1 }] } } as const;
const QUIET = { PORT: '0', DATA_DIR: ':memory:', LOG_LEVEL: 'silent' };

describe.each(['express', 'fastify'] as const)('on %s', (variant) => {
  const start = (env: Record<string, string>): Promise<Service> =>
    startService(readConfig({ ...QUIET, ...env, HOST_VARIANT: variant }));

  test('with METRICS=1, /metrics has scopes, transactions and connections in the format of Prometheus', async () => {
    const service = await start({ METRICS: '1' });
    await request(service.url, ORDER);

    const response = await fetch(`${service.url}/metrics`);
    const text = await response.text();

    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    expect(text).toMatch(/^target_info\{service_name="ambit-service",/m);
    expect(text).toMatch(/^ambit_scope_opened_total\{ambit_scope_kind="request",.*\} 2$/m);
    expect(text).toMatch(/^ambit_transaction_count_total\{ambit_transaction_outcome="committed",.*\} 1$/m);
    expect(text).toMatch(/^db_client_connection_wait_time_count\{.*\} 1$/m);
    expect(text).toMatch(/^db_client_connection_count\{.*db_client_connection_state="idle",.*\} 1$/m);
    await service.stop();
  });

  test('without it there is nothing at /metrics', async () => {
    const service = await start({});
    for (const method of ['GET', 'POST'])
      expect((await request(service.url, { method, path: '/metrics' })).status).toBe(404);
    await service.stop();
  });

  test('with INSPECTOR=1 the inspector is at /inspector, and opens no request scope', async () => {
    const service = await start({ INSPECTOR: '1', NODE_ENV: 'development', METRICS: '1' });

    expect((await fetch(`${service.url}/inspector/`)).status).toBe(200);

    const text = await (await fetch(`${service.url}/metrics`)).text();
    expect(text).toMatch(/^ambit_scope_opened_total\{ambit_scope_kind="request",.*\} 1$/m);
    await service.stop();
  });
});

/** A host with telemetry, whose log is kept. */
async function observed(variant: HostVariant, env: Record<string, string>) {
  const config = readConfig({ ...QUIET, ...env, HOST_VARIANT: variant });
  const log = new LogBook(new Happenings());
  const container = createAppContainer(config);
  override(container, Registration.fromValue(log.logger).to('ILogger'));
  const telemetry = startTelemetry(container.resolve('IDatabasePool'), config);
  container.defer(() => telemetry.stop());
  const host = await createHost(variant, container, { logger: log.logger, telemetry });
  await container.start();
  return { host, log, url: await host.listen(0, config.host) };
}

describe.each(['express', 'fastify'] as const)('beside an SDK for spans and metrics, on %s', (variant) => {
  const spans = new InMemorySpanExporter();
  const reader = new PrometheusExporter({ preventServerStart: true });
  const hasMetrics = async (): Promise<boolean> => (await reader.collect()).resourceMetrics.scopeMetrics.length > 0;

  beforeAll(() => {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  });

  afterAll(() => {
    trace.disable();
    metrics.disable();
  });

  test('METRICS=1 alone creates no spans, and no trace ids in the log', async () => {
    const { host, log, url } = await observed(variant, { METRICS: '1' });
    await request(url, { path: '/api/users' });
    const line = await log.finds({ msg: 'request', path: '/api/users' });
    await host.close(0);
    expect(spans.getFinishedSpans()).toEqual([]);
    for (const record of [line, ...log.audits]) expect(record).not.toHaveProperty('trace_id');
  });

  test('TRACES=1 alone creates spans, no metrics, and their ids in every line of a request, audit records included', async () => {
    const { host, log, url } = await observed(variant, { TRACES: '1' });
    await request(url, ORDER);
    await request(url, { path: '/api/users' });
    const line = await log.finds({ msg: 'request', path: '/api/users' });
    const audit = await log.finds({ type: 'audit', action: 'users_listed' });
    await host.close(0);
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(
      expect.arrayContaining(['request scope', 'transaction', 'INSERT orders']),
    );
    expect(await hasMetrics()).toBe(false);
    expect(line).toMatchObject({ trace_id: expect.stringMatching(/^[0-9a-f]{32}$/), span_id: expect.any(String) });
    expect(audit).toMatchObject({ trace_id: line['trace_id'], span_id: line['span_id'] });
  });
});
