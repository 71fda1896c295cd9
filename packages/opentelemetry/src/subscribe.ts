import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Listener } from './messages.js';

const CHANNELS = {
  scopeOpened: 'ambit:scope:opened',
  scopeClosed: 'ambit:scope:closed',
  instanceDisposed: 'ambit:instance:disposed',
  transactionRefused: 'ambit:transaction:refused',
  transactionAcquired: 'ambit:transaction:acquired',
  statement: 'ambit:transaction:statement',
  transactionFinished: 'ambit:transaction:finished',
} as const satisfies Record<keyof Listener, string>;

/** Subscribes each method of the listener to its channel. The returned function unsubscribes them. */
export function listen(listener: Listener): () => void {
  const subscriptions = (Object.keys(CHANNELS) as (keyof Listener)[])
    .filter((name) => listener[name] !== undefined)
    .map((name) => {
      const handle = (message: unknown): void => listener[name]?.(message as never);
      return { channel: CHANNELS[name], handle };
    });
  for (const { channel, handle } of subscriptions) subscribe(channel, handle);
  return () => {
    for (const { channel, handle } of subscriptions) unsubscribe(channel, handle);
  };
}
