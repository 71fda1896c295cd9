import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Meter } from '@opentelemetry/api';

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
