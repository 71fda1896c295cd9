import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import type { Container, Key } from '../../src/index.js';

export const CHANNELS = [
  'ambit:scope:opened',
  'ambit:scope:closed',
  'ambit:instance:created',
  'ambit:instance:disposed',
] as const;

export interface Published {
  readonly name: string;
  readonly scope: Container;
  readonly key?: Key;
  readonly milliseconds?: number;
  readonly error?: unknown;
}

/** Calls the listener with what is published, until stopped or the test is over. */
export function listen(listener: (event: Published) => void, ...names: string[]): () => void {
  const onMessage = (message: unknown, name: string | symbol) =>
    listener({ ...(message as Omit<Published, 'name'>), name: String(name).replace('ambit:', '') });
  const channels = names.length > 0 ? names : CHANNELS;
  for (const name of channels) subscribe(name, onMessage);
  const stop = () => channels.forEach((name) => unsubscribe(name, onMessage));
  onTestFinished(stop);
  return stop;
}

/** What subscribers throw reaches the process a tick later; this takes it from there. */
export async function uncaughtDuring(work: () => Promise<void>): Promise<unknown[]> {
  const errors: unknown[] = [];
  process.setUncaughtExceptionCaptureCallback((error) => void errors.push(error));
  try {
    await work();
    await new Promise((resolve) => void setImmediate(resolve));
  } finally {
    process.setUncaughtExceptionCaptureCallback(null);
  }
  return errors;
}
