import type { Attributes, Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';
import {
  type AcquiredMessage,
  type DisposedMessage,
  type EndedMessage,
  kindOf,
  type Listener,
  nameOf,
  type RefusedMessage,
  type ScopeMessage,
} from './messages.js';

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
