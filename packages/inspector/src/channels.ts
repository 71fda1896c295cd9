import type { Container, Key } from '@ambit/container';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FindingMessage } from './finding-step.js';
import type { Recorder } from './recorder.js';
import type { Outcome } from './wire.js';

interface Message {
  readonly scope: Container;
  readonly parent: object;
  readonly key: Key;
  readonly milliseconds: number;
  readonly sql: string;
  readonly outcome: Exclude<Outcome, 'refused'>;
  readonly error?: unknown;
}

/** Passes the messages of the diagnostics channels to the recorder. The returned function stops that. */
export function listen(recorder: Recorder): () => void {
  const handlers: Record<string, (message: Message & FindingMessage) => void> = {
    'ambit:scope:opened': ({ scope }) => recorder.scopeOpened(scope),
    'ambit:scope:closed': ({ scope }) => recorder.scopeClosed(scope),
    'ambit:instance:created': ({ scope, key, milliseconds }) => recorder.instanceCreated(scope, key, milliseconds),
    'ambit:instance:disposed': ({ scope, key, error }) => recorder.instanceDisposed(scope, key, error),
    'ambit:transaction:refused': ({ parent, milliseconds, error }) =>
      recorder.connectionRefused(parent, milliseconds, error),
    'ambit:transaction:acquired': ({ scope, milliseconds }) => recorder.connectionAcquired(scope, milliseconds),
    'ambit:transaction:begun': ({ scope, milliseconds }) => recorder.begun(scope, milliseconds),
    'ambit:transaction:statement': ({ scope, sql, milliseconds, error }) =>
      recorder.statement(scope, sql, milliseconds, error),
    'ambit:transaction:ended': ({ scope, outcome, milliseconds, error }) =>
      recorder.transactionFinished(scope, outcome, milliseconds, error),
    'ambit:transaction:finding': (finding) => recorder.found(finding),
  };
  const listeners = Object.entries(handlers).map(
    ([name, handle]) => [name, (message: unknown) => handle(message as Message & FindingMessage)] as const,
  );
  for (const [name, listener] of listeners) subscribe(name, listener);
  return () => {
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  };
}
