import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Container } from '@ambit/container';
import { FakePool } from '@ambit/transaction/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Instrumentation, instrument, spanOf, traceIdsOf } from '../src/index.js';
import { type App, hosts } from './support/hosts.js';
import { Telemetry } from './support/telemetry.js';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT_ID = 'b7ad6b7169203331';
const DATABASE = { system: 'postgresql', namespace: 'shop|public', address: 'db.internal', port: 6432 };

describe.each(Object.entries(hosts))('on %s', (_name, open) => {
  let app: App;
  let telemetry: Telemetry;
  let instrumentation: Instrumentation;
  let failing: boolean;

  beforeEach(async () => {
    telemetry = new Telemetry();
    failing = false;
    app = await open(
      new FakePool({ faultAt: (at) => ({ ms: 0, kind: failing && at === 'query' ? 'refused' : 'none' }) }),
    );
    instrumentation = instrument({ ...telemetry.providers, pool: app.pool, database: DATABASE });
  });

  afterEach(async () => {
    instrumentation.stop();
    await app.close();
    await telemetry.shutdown();
  });

  async function send(method: string, path: string, headers: Record<string, string> = {}): Promise<number> {
    const closed = scopeClosed();
    const { status } = await fetch(app.url + path, { method, headers });
    await closed;
    return status;
  }

  it('a request is one span', async () => {
    await send('GET', '/users');

    expect(telemetry.spans.map(({ name }) => name)).toEqual(['request scope']);
  });

  it('an order is a request span, with a transaction span, with a statement span', async () => {
    expect(await send('POST', '/orders')).toBe(201);

    const [order, transaction, statement] = ['request scope', 'transaction', 'INSERT orders'].map((name) =>
      telemetry.span(name),
    );
    expect(transaction?.parentSpanContext?.spanId).toBe(order?.spanContext().spanId);
    expect(statement?.parentSpanContext?.spanId).toBe(transaction?.spanContext().spanId);
    expect(transaction?.attributes['ambit.transaction.outcome']).toBe('committed');
    expect(transaction?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('a statement has what the conventions name, and no values', async () => {
    await send('POST', '/orders');

    const ofMetric = {
      'db.system.name': 'postgresql',
      'db.namespace': 'shop|public',
      'server.address': 'db.internal',
      'server.port': 6432,
      'db.operation.name': 'INSERT',
      'db.collection.name': 'orders',
      'db.query.summary': 'INSERT orders',
    };
    const { attributes, kind } = telemetry.span('INSERT orders') ?? {};
    expect(kind).toBe(SpanKind.CLIENT);
    expect(attributes).toEqual({ ...ofMetric, 'db.query.text': 'INSERT INTO orders VALUES ($1, ?)' });
    expect(await telemetry.values('db.client.operation.duration')).toMatchObject([
      {
        attributes: ofMetric,
        value: { count: 1, buckets: { boundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] } },
      },
    ]);
  });

  it('a statement that fails has the SQLSTATE, in a transaction and outside of one', async () => {
    failing = true;
    await send('POST', '/orders');
    await app.pool.query('SELECT a FROM b').catch(() => undefined);

    const failed = { 'error.type': '55000', 'db.response.status_code': '55000' };
    expect(telemetry.span('INSERT orders')?.attributes).toMatchObject(failed);
    expect(telemetry.span('SELECT b')?.attributes).toMatchObject(failed);
    expect(await telemetry.values('db.client.operation.duration')).toHaveLength(2);
  });

  it.each(['with a propagator', 'without one, as in the README'])('an incoming trace is continued %s', async (set) => {
    if (set !== 'with a propagator') propagation.disable();
    onTestFinished(() => void propagation.setGlobalPropagator(new W3CTraceContextPropagator()));
    await send('GET', '/users', { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` });

    const span = telemetry.span('request scope');
    expect(span?.spanContext().traceId).toBe(TRACE_ID);
    expect(span?.parentSpanContext?.spanId).toBe(PARENT_ID);
  });

  it('the next request does not continue the trace of the previous one', async () => {
    await send('GET', '/users', { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` });
    await send('GET', '/users');

    expect(telemetry.spans[1]?.spanContext().traceId).not.toBe(TRACE_ID);
  });

  it('a handler that fails has a transaction span with the outcome "rolled back"', async () => {
    expect(await send('POST', '/failing')).toBe(500);

    expect(telemetry.span('transaction')?.attributes['ambit.transaction.outcome']).toBe('rolled back');
  });

  it('the transaction span of a handler that fails has what the handler threw', async () => {
    await send('POST', '/failing');

    const [exception] = telemetry.span('transaction')?.events ?? [];
    expect(exception?.attributes?.['exception.message']).toBe('the handler failed');
  });

  it('the span ends when the client disconnects', async () => {
    const opened = scopeOpened();
    const closed = scopeClosed();
    const leaving = request(`${app.url}/orders`, { method: 'POST', headers: { 'content-length': '10' } });
    leaving.on('error', () => undefined);
    leaving.flushHeaders();
    await opened;
    leaving.destroy();
    await closed;

    expect(telemetry.span('request scope')?.ended).toBe(true);
  });

  it('counts scopes, transactions and connections', async () => {
    await send('POST', '/orders');
    await send('POST', '/failing');

    const kind = { 'ambit.scope.kind': 'request' };
    expect(await telemetry.values('ambit.scope.opened')).toContainEqual({ attributes: kind, value: 2 });
    expect(await telemetry.values('ambit.scope.ended')).toContainEqual({ attributes: kind, value: 2 });
    expect(await telemetry.values('ambit.scope.open')).toContainEqual({ attributes: kind, value: 0 });
    expect(await telemetry.values('ambit.transaction.count')).toEqual([
      { attributes: { 'ambit.transaction.outcome': 'committed' }, value: 1 },
      { attributes: { 'ambit.transaction.outcome': 'rolled back' }, value: 1 },
    ]);
    expect(await telemetry.values('db.client.connection.wait_time')).toMatchObject([{ value: { count: 2 } }]);
  });

  it('records nothing after stop()', async () => {
    instrumentation.stop();

    await send('POST', '/orders');

    expect(telemetry.spans).toEqual([]);
    expect(await telemetry.values('ambit.scope.opened')).toEqual([]);
  });
});

it('OTLP exporters send an order as a collector reads it', async () => {
  const sent = new Map<unknown, Record<string, unknown>>();
  const keep = (_: string, value: unknown): unknown => {
    const { name } = Object(value) as Record<string, unknown>;
    if (name !== undefined) sent.set(name, value as Record<string, unknown>);
    return value;
  };
  const collector = createServer((message, response) => {
    void text(message).then((body) => {
      JSON.parse(body, keep);
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const telemetry = new Telemetry(new OTLPTraceExporter({ url }), new OTLPMetricExporter({ url }));
  const app = await hosts.Express(new FakePool());
  using _ = instrument({ ...telemetry.providers, pool: app.pool, database: DATABASE });
  await fetch(`${app.url}/orders`, { method: 'POST', headers: { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` } });
  await app.close();
  await telemetry.shutdown();
  collector.close();

  const [order, transaction, statement] = ['request scope', 'transaction', 'INSERT orders'].map((name) =>
    sent.get(name),
  );
  expect(order).toMatchObject({ traceId: TRACE_ID, parentSpanId: PARENT_ID });
  expect(transaction).toMatchObject({ traceId: TRACE_ID, parentSpanId: order?.['spanId'] });
  expect(statement).toMatchObject({ traceId: TRACE_ID, parentSpanId: transaction?.['spanId'], kind: 3 });
  expect(statement?.['attributes']).toContainEqual({ key: 'server.port', value: { intValue: 6432 } });
  expect(sent.get('db.client.operation.duration')).toMatchObject({
    unit: 's',
    histogram: { dataPoints: [{ count: 1 }] },
  });
});

describe('the span of a scope', () => {
  it('provides the ids for a log line if it is traced', async () => {
    const telemetry = new Telemetry();
    const app = new Container();
    const before = app.createScope({ tags: ['request'] });
    using _ = instrument(telemetry);
    const scope = app.createScope({ tags: ['request'] });

    expect(traceIdsOf(before)).toBeUndefined();
    expect(traceIdsOf(scope)).toEqual({
      trace_id: spanOf(scope)?.spanContext().traceId,
      span_id: spanOf(scope)?.spanContext().spanId,
    });
    await app.dispose();
  });

  it('is the child of a span that another instrumentation made active', async () => {
    const telemetry = new Telemetry();
    const app = new Container();
    using _ = instrument(telemetry);
    const outer = telemetry.tracerProvider.getTracer('http').startSpan('GET /users');

    const scope = context.with(trace.setSpan(context.active(), outer), () => app.createScope({ tags: ['request'] }));
    await scope.dispose();

    expect(telemetry.span('request scope')?.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  });

  it('has an error status when an instance fails to dispose', async () => {
    const telemetry = new Telemetry();
    const app = new Container();
    using _ = instrument(telemetry);
    const scope = app.createScope({ tags: ['request'] });
    scope.defer(() => {
      throw new Error('did not end');
    });

    await scope.dispose().catch(() => undefined);

    expect(telemetry.span('request scope')?.status.code).toBe(SpanStatusCode.ERROR);
    expect(await telemetry.values('ambit.instance.disposal_failures')).toMatchObject([{ value: 1 }]);
  });
});

const scopeOpened = (): Promise<void> => next('ambit:scope:opened');
const scopeClosed = (): Promise<void> => next('ambit:scope:closed');

/** Resolves with the next message about a request's scope. */
function next(channel: string): Promise<void> {
  return new Promise((resolve) => {
    const hear = (message: unknown): void => {
      if (!(message as { scope: { hasTag(tag: string): boolean } }).scope.hasTag('request')) return;
      unsubscribe(channel, hear);
      resolve();
    };
    subscribe(channel, hear);
  });
}
