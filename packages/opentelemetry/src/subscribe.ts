import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Listener } from './messages.js';

const CHANNELS = {
  scopeOpened: 'ambit:scope:opened',
  scopeClosed: 'ambit:scope:closed',
  instanceDisposed: 'ambit:instance:disposed',
  transactionRefused: 'ambit:transaction:refused',
  transactionAcquired: 'ambit:transaction:acquired',
  statement: 'ambit:transaction:statement',
  transactionEnded: 'ambit:transaction:ended',
} as const satisfies Record<keyof Listener, string>;

/** Lets the listener hear what it has a method for, until the function given back is called. */
export function listen(listener: Listener): () => void {
  const heard = (Object.keys(CHANNELS) as (keyof Listener)[])
    .filter((name) => listener[name] !== undefined)
    .map((name) => {
      const tell = (message: unknown): void => listener[name]?.(message as never);
      return { channel: CHANNELS[name], tell };
    });
  for (const { channel, tell } of heard) subscribe(channel, tell);
  return () => {
    for (const { channel, tell } of heard) unsubscribe(channel, tell);
  };
}
