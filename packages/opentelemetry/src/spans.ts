import {
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { IncomingRequest } from './incoming.js';
import {
  type AcquiredMessage,
  type DisposedMessage,
  type EndedMessage,
  type Listener,
  nameOf,
  type RefusedMessage,
  type Scope,
  type ScopeMessage,
  type StatementMessage,
} from './messages.js';
import { masked, operationOf } from './sql.js';

/** Weak, so that a scope nobody ends takes its span along when it goes. */
const spans = new WeakMap<object, Span>();

/**
 * The span of a request's scope or of a transaction's, while it lives and after.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * const request = new Container().createScope({ tags: ['request'] });
 * spanOf(request)?.setAttribute('shop.cart', 3);
 * ```
 */
export function spanOf(scope: object): Span | undefined {
  return spans.get(scope);
}

/** What a line in a log carries, so that it is found from the trace, in the names that OpenTelemetry gives them. */
export interface TraceIds {
  readonly trace_id: string;
  readonly span_id: string;
}

/**
 * The ids for a log line; undefined where nothing is traced.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * const request = new Container().createScope({ tags: ['request'] });
 * console.log({ msg: 'hello', ...traceIdsOf(request) });
 * ```
 */
export function traceIdsOf(scope: object): TraceIds | undefined {
  const ids = spans.get(scope)?.spanContext();
  return ids && trace.isSpanContextValid(ids) ? { trace_id: ids.traceId, span_id: ids.spanId } : undefined;
}

/** As long as a transaction waits for the end of its scope, unless it is told otherwise. */
const PATIENCE_MS = 10_000;

/** A span for each request and each transaction, and one for each statement within. */
export class Spans implements Listener {
  readonly #tracer: Tracer;
  readonly #incoming: IncomingRequest;
  /** Scopes that will tell when they close. Those of a foreign container tell nothing. */
  readonly #open = new WeakSet<object>();
  /** Scopes whose transaction has ended, each with what ends the span should the scope never close. */
  readonly #closing = new WeakMap<object, NodeJS.Timeout>();

  constructor(tracer: Tracer, incoming: IncomingRequest) {
    this.#tracer = tracer;
    this.#incoming = incoming;
  }

  scopeOpened({ scope }: ScopeMessage): void {
    this.#open.add(scope);
    if (!isRequest(scope)) return;
    spans.set(scope, this.#tracer.startSpan('request scope', {}, this.#contextAround(scope)));
  }

  scopeClosed({ scope }: ScopeMessage): void {
    this.#open.delete(scope);
    const giveUp = this.#closing.get(scope);
    clearTimeout(giveUp);
    // A scope that is disposed before BEGIN closes before its transaction ends.
    if (isRequest(scope) || giveUp) spans.get(scope)?.end();
  }

  instanceDisposed({ scope, key, error }: DisposedMessage): void {
    if (error === undefined) return;
    const span = spans.get(scope);
    span?.setAttribute('ambit.key', nameOf(key));
    if (span) fail(span, error);
  }

  transactionRefused({ parent, milliseconds, error }: RefusedMessage): void {
    const start = Date.now() - milliseconds;
    const attributes = { 'ambit.transaction.outcome': 'refused' };
    const span = this.#tracer.startSpan('transaction', { startTime: start, attributes }, this.#contextOf(parent));
    fail(span, error);
    span.end();
  }

  transactionAcquired({ scope, parent, milliseconds }: AcquiredMessage): void {
    const attributes = { 'ambit.transaction.acquire_ms': milliseconds };
    spans.set(scope, this.#tracer.startSpan('transaction', { attributes }, this.#contextOf(parent)));
  }

  statement({ scope, sql, milliseconds, error }: StatementMessage): void {
    const text = masked(sql);
    const operation = operationOf(text);
    const span = this.#tracer.startSpan(
      operation,
      {
        kind: SpanKind.CLIENT,
        startTime: Date.now() - milliseconds,
        attributes: { 'db.operation.name': operation, 'db.query.text': text },
      },
      this.#contextOf(scope),
    );
    if (error !== undefined) fail(span, error);
    span.end();
  }

  transactionEnded({ scope, outcome, error }: EndedMessage): void {
    const span = spans.get(scope);
    if (!span) return;
    span.setAttribute('ambit.transaction.outcome', outcome);
    if (error !== undefined || outcome === 'unknown') fail(span, error);
    if (this.#open.has(scope)) this.#endWhenClosed(scope, span);
    else span.end();
  }

  /** Its instances are ended after it, and one that does not end well is told of in its span. */
  #endWhenClosed(scope: Scope, span: Span): void {
    const giveUp = setTimeout(() => {
      this.#closing.delete(scope);
      span.end();
    }, PATIENCE_MS);
    this.#closing.set(scope, giveUp.unref());
  }

  /** The nearest span around a scope: its own, one of a scope around it, or the one that is active. */
  #contextOf(scope: Scope): Context {
    for (let around: Scope | undefined = scope; around; around = around.parent) {
      const span = spans.get(around);
      if (span) return trace.setSpan(context.active(), span);
    }
    return this.#contextAround(scope);
  }

  /** A span that another instrumentation made of the request, or else what the request's headers say. */
  #contextAround(scope: Scope): Context {
    const outer = scope.parent && spans.get(scope.parent);
    const active = context.active();
    if (outer) return trace.setSpan(active, outer);
    if (trace.getSpan(active) || !this.#incoming.headers) return active;
    return propagation.extract(active, this.#incoming.headers);
  }
}

const isRequest = ({ tags }: Scope): boolean => tags?.includes('request') ?? false;

function fail(span: Span, error: unknown): void {
  if (error instanceof Error) span.recordException(error);
  const { code } = (error ?? {}) as { code?: unknown };
  span.setStatus({ code: SpanStatusCode.ERROR, ...(typeof code === 'string' ? { message: code } : {}) });
}
