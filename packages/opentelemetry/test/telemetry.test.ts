import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request } from 'node:http';
import { SpanStatusCode, trace, context } from '@opentelemetry/api';
import { Container } from '@ambit/container';
import { FakePool } from '@ambit/transaction/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Instrumentation, instrument, spanOf, traceIdsOf } from '../src/index.js';
import { type App, hosts } from './support/hosts.js';
import { Telemetry } from './support/telemetry.js';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT_ID = 'b7ad6b7169203331';

describe.each(Object.entries(hosts))('on %s', (_name, open) => {
  let app: App;
  let telemetry: Telemetry;
  let instrumentation: Instrumentation;

  beforeEach(async () => {
    telemetry = new Telemetry();
    app = await open(new FakePool());
    instrumentation = instrument({ ...telemetry.providers, pool: app.pool });
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

    const [order, transaction, statement] = ['request scope', 'transaction', 'INSERT'].map((name) =>
      telemetry.span(name),
    );
    expect(transaction?.parentSpanContext?.spanId).toBe(order?.spanContext().spanId);
    expect(statement?.parentSpanContext?.spanId).toBe(transaction?.spanContext().spanId);
    expect(transaction?.attributes['ambit.transaction.outcome']).toBe('committed');
    expect(transaction?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('a statement shows no values', async () => {
    await send('POST', '/orders');

    expect(telemetry.span('INSERT')?.attributes['db.query.text']).toBe('INSERT INTO orders VALUES ($1, ?)');
  });

  it('an incoming trace is continued', async () => {
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
