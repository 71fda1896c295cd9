import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IDatabasePool } from '@ambit/transaction';
import type {
  Attributes,
  BatchObservableResult,
  Counter,
  Histogram,
  Meter,
  MetricOptions,
  UpDownCounter,
} from '@opentelemetry/api';
import {
  type AcquiredMessage,
  type DisposedMessage,
  type EndedMessage,
  kindOf,
  type Listener,
  nameOf,
  type RefusedMessage,
  type ScopeMessage,
  type StatementMessage,
} from './spans.js';
import type { Statements } from './statements.js';

/** Seconds: the first bucket is an idle connection, the last a wait that is about to time out. */
const ACQUIRE_BOUNDARIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Those that the conventions ask for. */
const OPERATION_BOUNDARIES = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** A metric's description, and its unit. */
const about = (unit: string, description: string): MetricOptions => ({ description, unit: `{${unit}}` });

const seconds = (description: string, explicitBucketBoundaries: number[]): MetricOptions => ({
  description,
  unit: 's',
  advice: { explicitBucketBoundaries },
});

export class Metrics implements Listener {
  readonly #open: UpDownCounter;
  readonly #opened: Counter;
  readonly #ended: Counter;
  readonly #failures: Counter;
  readonly #transactions: Counter;
  readonly #acquiring: Histogram;
  readonly #operations: Histogram;
  readonly #statements: Statements;
  readonly #ofPool: Attributes;
  /** Scopes whose opening was counted: only their closing is counted, too. */
  readonly #counted = new WeakMap<object, Attributes>();

  constructor(meter: Meter, statements: Statements) {
    this.#statements = statements;
    this.#ofPool = { 'db.client.connection.pool.name': statements.poolName };
    this.#open = meter.createUpDownCounter('ambit.scope.open', about('scope', 'Scopes that are open'));
    this.#opened = meter.createCounter('ambit.scope.opened', about('scope', 'Scopes opened so far'));
    this.#ended = meter.createCounter('ambit.scope.ended', about('scope', 'Scopes closed so far'));
    const failures = about('instance', 'Instances that failed to dispose');
    this.#failures = meter.createCounter('ambit.instance.disposal_failures', failures);
    const outcomes = about('transaction', 'Transactions by outcome: committed, rolled back, unknown, refused');
    this.#transactions = meter.createCounter('ambit.transaction.count', outcomes);
    const waits = seconds('How long transactions waited for a connection', ACQUIRE_BOUNDARIES);
    this.#acquiring = meter.createHistogram('db.client.connection.wait_time', waits);
    const durations = seconds('Duration of database client operations.', OPERATION_BOUNDARIES);
    this.#operations = meter.createHistogram('db.client.operation.duration', durations);
  }

  statement({ sql, milliseconds, error }: StatementMessage): void {
    this.#operations.record(milliseconds / 1000, this.#statements.describe(sql, error).metric);
  }

  statementOutside(message: StatementMessage): void {
    this.statement(message);
  }

  scopeOpened({ scope }: ScopeMessage): void {
    const kind = { 'ambit.scope.kind': kindOf(scope) };
    this.#counted.set(scope, kind);
    this.#open.add(1, kind);
    this.#opened.add(1, kind);
  }

  scopeClosed({ scope }: ScopeMessage): void {
    const kind = this.#counted.get(scope);
    if (!kind) return;
    this.#counted.delete(scope);
    this.#open.add(-1, kind);
    this.#ended.add(1, kind);
  }

  instanceDisposed({ key, error }: DisposedMessage): void {
    if (error !== undefined) this.#failures.add(1, { 'ambit.key': nameOf(key) });
  }

  transactionRefused({ milliseconds }: RefusedMessage): void {
    this.#acquiring.record(milliseconds / 1000, this.#ofPool);
    this.#transactions.add(1, { 'ambit.transaction.outcome': 'refused' });
  }

  transactionAcquired({ milliseconds }: AcquiredMessage): void {
    this.#acquiring.record(milliseconds / 1000, this.#ofPool);
  }

  transactionFinished({ outcome }: EndedMessage): void {
    this.#transactions.add(1, { 'ambit.transaction.outcome': outcome });
  }
}

/** Reports the size of the pool at each collection. Returns the function that stops it. */
export function watchPool(meter: Meter, pool: Pick<IDatabasePool, 'size'>, name: string): () => void {
  const states = about('connection', 'Connections of the pool, by state');
  const connections = meter.createObservableUpDownCounter('db.client.connection.count', states);
  const callers = about('request', 'Callers that wait for a connection');
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', callers);
  const observe = (result: BatchObservableResult): void => {
    const { size } = pool;
    if (!size) return;
    const ofPool = { 'db.client.connection.pool.name': name };
    result.observe(connections, size.open - size.idle, { ...ofPool, 'db.client.connection.state': 'used' });
    result.observe(connections, size.idle, { ...ofPool, 'db.client.connection.state': 'idle' });
    result.observe(pending, size.waiting, ofPool);
  };
  meter.addBatchObservableCallback(observe, [connections, pending]);
  return () => meter.removeBatchObservableCallback(observe, [connections, pending]);
}

/** The messages of the three channels: each has the table, and some of the others. */
interface OutboxMessage {
  readonly table: string;
  readonly lag: number;
  readonly dead: number | boolean;
  readonly pending: number;
}

/** From an event that is delivered at once to one whose receiver was down for hours, in seconds. */
const LAG_BOUNDARIES = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600];

/** Counts what the relays of this process deliver, and reports the backlog that they measured last. Returns the function that stops it. */
export function watchOutbox(meter: Meter): () => void {
  const delivered = meter.createCounter('ambit.outbox.delivered', about('event', 'Events that a receiver took'));
  const failures = about('delivery', 'Deliveries that failed, and whether it was the last attempt');
  const failed = meter.createCounter('ambit.outbox.failed', failures);
  const lags = seconds('The time from the publication of an event to its delivery', LAG_BOUNDARIES);
  const lag = meter.createHistogram('ambit.outbox.lag', lags);
  const pending = meter.createGauge('ambit.outbox.pending', about('event', 'Events that are not delivered yet'));
  const dead = meter.createGauge('ambit.outbox.dead', about('event', 'Events that failed too often'));
  const of = ({ table }: OutboxMessage): Attributes => ({ 'ambit.outbox.table': table });
  const listeners: Readonly<Record<string, (message: OutboxMessage) => void>> = {
    'ambit:outbox:delivered': (message) => {
      delivered.add(1, of(message));
      lag.record(message.lag / 1000, of(message));
    },
    'ambit:outbox:failed': (message) => failed.add(1, { ...of(message), 'ambit.outbox.dead': message.dead }),
    'ambit:outbox:backlog': (message) => {
      pending.record(message.pending, of(message));
      dead.record(Number(message.dead), of(message));
    },
  };
  const subscriptions = Object.entries(listeners) as [string, (message: unknown) => void][];
  for (const [name, listener] of subscriptions) subscribe(name, listener);
  return () => {
    for (const [name, listener] of subscriptions) unsubscribe(name, listener);
  };
}
