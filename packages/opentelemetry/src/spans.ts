import {
  type Context,
  context,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { IncomingRequest } from './instrument.js';
import type { Statements } from './statements.js';

/** The fields of a scope that the channels publish; scopes of any container library with these fields work. */
export interface Scope {
  readonly tags?: readonly string[];
  readonly parent?: Scope | undefined;
}

export interface ScopeMessage {
  readonly scope: Scope;
}

export interface DisposedMessage extends ScopeMessage {
  readonly key: unknown;
  readonly error?: unknown;
}

export interface RefusedMessage {
  readonly parent: Scope;
  readonly milliseconds: number;
  readonly error: unknown;
}

export interface AcquiredMessage extends ScopeMessage {
  readonly parent: Scope;
  readonly milliseconds: number;
}

export interface StatementMessage {
  /** Undefined outside of a transaction. */
  readonly scope?: Scope;
  readonly sql: string;
  readonly milliseconds: number;
  readonly error?: unknown;
}

export interface EndedMessage extends ScopeMessage {
  readonly outcome: string;
  readonly milliseconds: number;
  readonly error?: unknown;
}

/** Handlers for the messages of the channels; each is optional. */
export interface Listener {
  scopeOpened?(message: ScopeMessage): void;
  scopeClosed?(message: ScopeMessage): void;
  instanceDisposed?(message: DisposedMessage): void;
  transactionRefused?(message: RefusedMessage): void;
  transactionAcquired?(message: AcquiredMessage): void;
  statement?(message: StatementMessage): void;
  statementOutside?(message: StatementMessage): void;
  transactionFinished?(message: EndedMessage): void;
}

/** The kind of a scope: its tags. */
export function kindOf({ tags = [] }: Scope): string {
  return tags.length > 0 ? tags.join(' ') : 'untagged';
}

/** A key as text. For a class that is its name, because `String(key)` would be its source. */
export function nameOf(key: unknown): string {
  return typeof key === 'function' ? key.name || '(anonymous class)' : String(key);
}

/** Weak, so that a scope that nobody disposes is garbage-collected together with its span. */
const spans = new WeakMap<object, Span>();

/**
 * The span of a request scope or a transaction scope, also after it has ended.
 *
 * @param scope - a scope tagged `request`, or the scope of a transaction
 * @returns its span, or undefined if the scope is not traced
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

/** The fields of a log line that link it to its trace, under the names that OpenTelemetry gives them. */
export interface TraceIds {
  /** The id of the trace: 32 hexadecimal digits. */
  readonly trace_id: string;
  /** The id of the span: 16 hexadecimal digits. */
  readonly span_id: string;
}

/**
 * The ids of the trace and the span, for a log line.
 *
 * @param scope - a scope tagged `request`, or the scope of a transaction
 * @returns the ids, or undefined if the scope is not traced
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

/** The time that a transaction waits for the disposal of its scope by default. */
const DISPOSAL_TIMEOUT_MS = 10_000;

/** One span per request scope, per transaction, and per statement. */
export class Spans implements Listener {
  readonly #tracer: Tracer;
  readonly #incoming: IncomingRequest;
  readonly #statements: Statements;
  /** Open scopes that publish their closing. Scopes of another container library publish nothing. */
  readonly #open = new WeakSet<object>();
  /** Scopes whose transaction is committed or rolled back, with the timer that ends the span if the scope never closes. */
  readonly #closing = new WeakMap<object, NodeJS.Timeout>();

  constructor(tracer: Tracer, incoming: IncomingRequest, statements: Statements) {
    this.#tracer = tracer;
    this.#statements = statements;
    this.#incoming = incoming;
  }

  scopeOpened({ scope }: ScopeMessage): void {
    this.#open.add(scope);
    if (!isRequest(scope)) return;
    spans.set(scope, this.#tracer.startSpan('request scope', {}, this.#contextAround(scope)));
  }

  scopeClosed({ scope }: ScopeMessage): void {
    this.#open.delete(scope);
    const timer = this.#closing.get(scope);
    clearTimeout(timer);
    // A scope that is disposed before BEGIN is closed before the outcome of its transaction is published.
    if (isRequest(scope) || timer) spans.get(scope)?.end();
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
    const { name, span: attributes } = this.#statements.describe(sql, error);
    const startTime = Date.now() - milliseconds;
    const around = scope ? this.#contextOf(scope) : context.active();
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, around);
    if (error !== undefined) fail(span, error);
    span.end();
  }

  statementOutside(message: StatementMessage): void {
    this.statement(message);
  }

  transactionFinished({ scope, outcome, error }: EndedMessage): void {
    const span = spans.get(scope);
    if (!span) return;
    span.setAttribute('ambit.transaction.outcome', outcome);
    if (error !== undefined || outcome === 'unknown') fail(span, thrownBy(error));
    if (this.#open.has(scope)) this.#endWhenClosed(scope, span);
    else span.end();
  }

  /** The instances are disposed after the commit or rollback, and a disposer that fails is recorded in the span. */
  #endWhenClosed(scope: Scope, span: Span): void {
    const timer = setTimeout(() => {
      this.#closing.delete(scope);
      span.end();
    }, DISPOSAL_TIMEOUT_MS);
    this.#closing.set(scope, timer.unref());
  }

  /** The span of the scope, of the nearest scope around it, or the active one. */
  #contextOf(scope: Scope): Context {
    for (let around: Scope | undefined = scope; around; around = around.parent) {
      const span = spans.get(around);
      if (span) return trace.setSpan(context.active(), span);
    }
    return this.#contextAround(scope);
  }

  /** The span of an HTTP instrumentation, or else the trace that the headers of the request name. */
  #contextAround(scope: Scope): Context {
    const outer = scope.parent && spans.get(scope.parent);
    const active = context.active();
    if (outer) return trace.setSpan(active, outer);
    const { headers } = this.#incoming;
    if (trace.getSpan(active) || !headers) return active;
    // An SDK that is set up without a propagator has none that reads anything.
    return propagation.fields().length > 0 ? propagation.extract(active, headers) : traceOf(active, headers);
  }
}

/** The trace that the header `traceparent` names, as https://www.w3.org/TR/trace-context says. */
function traceOf(active: Context, { traceparent }: NonNullable<IncomingRequest['headers']>): Context {
  const [, traceId = '', spanId = '', flags = ''] =
    /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/.exec(String(traceparent)) ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(active, parent) : active;
}

const isRequest = ({ tags }: Scope): boolean => tags?.includes('request') ?? false;

/** What the work threw. The error of the transaction is then only that it cannot be used any more, which explains nothing. */
function thrownBy(error: unknown): unknown {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === 'AMBIT_TX_FINISHED' && cause !== undefined ? cause : error;
}

function fail(span: Span, error: unknown): void {
  if (error instanceof Error) span.recordException(error);
  const { code } = (error ?? {}) as { code?: unknown };
  span.setStatus({ code: SpanStatusCode.ERROR, ...(typeof code === 'string' ? { message: code } : {}) });
}
