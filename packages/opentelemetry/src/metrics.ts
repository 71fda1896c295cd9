import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IDatabasePool } from '@ambit/transaction';
import type { Attributes, BatchObservableResult, Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';
import {
  type AcquiredMessage,
  type DisposedMessage,
  type EndedMessage,
  kindOf,
  type Listener,
  nameOf,
  type RefusedMessage,
  type ScopeMessage,
} from './spans.js';

/** From an idle connection to a wait that is about to time out, in seconds. */
const ACQUIRE_BOUNDARIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class Metrics implements Listener {
  readonly #open: UpDownCounter;
  readonly #opened: Counter;
  readonly #ended: Counter;
  readonly #failures: Counter;
  readonly #transactions: Counter;
  readonly #acquiring: Histogram;
  /** Scopes whose opening was counted: only their closing is counted, too. */
  readonly #counted = new WeakMap<object, Attributes>();

  constructor(meter: Meter) {
    this.#open = meter.createUpDownCounter('ambit.scope.open', {
      description: 'Scopes that are open',
      unit: '{scope}',
    });
    this.#opened = meter.createCounter('ambit.scope.opened', { description: 'Scopes opened so far', unit: '{scope}' });
    this.#ended = meter.createCounter('ambit.scope.ended', { description: 'Scopes closed so far', unit: '{scope}' });
    this.#failures = meter.createCounter('ambit.instance.disposal_failures', {
      description: 'Instances that failed to dispose',
      unit: '{instance}',
    });
    this.#transactions = meter.createCounter('ambit.transaction.count', {
      description: 'Transactions by outcome: committed, rolled back, unknown, refused',
      unit: '{transaction}',
    });
    this.#acquiring = meter.createHistogram('db.client.connection.wait_time', {
      description: 'How long transactions waited for a connection',
      unit: 's',
      advice: { explicitBucketBoundaries: ACQUIRE_BOUNDARIES },
    });
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
    this.#acquiring.record(milliseconds / 1000);
    this.#transactions.add(1, { 'ambit.transaction.outcome': 'refused' });
  }

  transactionAcquired({ milliseconds }: AcquiredMessage): void {
    this.#acquiring.record(milliseconds / 1000);
  }

  transactionFinished({ outcome }: EndedMessage): void {
    this.#transactions.add(1, { 'ambit.transaction.outcome': outcome });
  }
}

/** Reports the size of the pool at each collection. Returns the function that stops it. */
export function watchPool(meter: Meter, pool: Pick<IDatabasePool, 'size'>): () => void {
  const connections = meter.createObservableUpDownCounter('db.client.connection.count', {
    description: 'Connections of the pool, by state',
    unit: '{connection}',
  });
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', {
    description: 'Callers that wait for a connection',
    unit: '{request}',
  });
  const observe = (result: BatchObservableResult): void => {
    const { size } = pool;
    if (!size) return;
    result.observe(connections, size.open - size.idle, { 'db.client.connection.state': 'used' });
    result.observe(connections, size.idle, { 'db.client.connection.state': 'idle' });
    result.observe(pending, size.waiting);
  };
  meter.addBatchObservableCallback(observe, [connections, pending]);
  return () => meter.removeBatchObservableCallback(observe, [connections, pending]);
}

interface DeliveredMessage {
  readonly table: string;
  readonly lag: number;
}
interface FailedMessage {
  readonly table: string;
  readonly dead: boolean;
}
interface BacklogMessage {
  readonly table: string;
  readonly pending: number;
  readonly dead: number;
}

/** From an event that is delivered at once to one whose receiver was down for hours, in seconds. */
const LAG_BOUNDARIES = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600];

/** Counts what the relays of this process deliver, and reports the backlog that they measured last. Returns the function that stops it. */
export function watchOutbox(meter: Meter): () => void {
  const delivered = meter.createCounter('ambit.outbox.delivered', {
    description: 'Events that a receiver took',
    unit: '{event}',
  });
  const failed = meter.createCounter('ambit.outbox.failed', {
    description: 'Deliveries that failed, and whether it was the last attempt',
    unit: '{delivery}',
  });
  const lag = meter.createHistogram('ambit.outbox.lag', {
    description: 'The time from the publication of an event to its delivery',
    unit: 's',
    advice: { explicitBucketBoundaries: LAG_BOUNDARIES },
  });
  const pending = meter.createGauge('ambit.outbox.pending', {
    description: 'Events that are not delivered yet',
    unit: '{event}',
  });
  const dead = meter.createGauge('ambit.outbox.dead', {
    description: 'Events that failed too often',
    unit: '{event}',
  });
  const of = ({ table }: { readonly table: string }) => ({ 'ambit.outbox.table': table });
  const listeners: Readonly<Record<string, (message: unknown) => void>> = {
    'ambit:outbox:delivered': (message) => {
      delivered.add(1, of(message as DeliveredMessage));
      lag.record((message as DeliveredMessage).lag / 1000, of(message as DeliveredMessage));
    },
    'ambit:outbox:failed': (message) => {
      const { table, dead: last } = message as FailedMessage;
      failed.add(1, { ...of({ table }), 'ambit.outbox.dead': last });
    },
    'ambit:outbox:backlog': (message) => {
      const backlog = message as BacklogMessage;
      pending.record(backlog.pending, of(backlog));
      dead.record(backlog.dead, of(backlog));
    },
  };
  for (const [name, listener] of Object.entries(listeners)) subscribe(name, listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) unsubscribe(name, listener);
  };
}
