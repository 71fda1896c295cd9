import type { Container, Key } from '@ambit/container';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FindingMessage } from './finding-step.js';
import type { Recorder } from './recorder.js';
import type { Line, Outcome } from './wire.js';

interface Message extends Line {
  readonly scope: Container;
  readonly parent: object;
  readonly key: Key;
  readonly milliseconds: number;
  readonly sql: string;
  readonly statement: object;
  readonly outcome: Exclude<Outcome, 'refused'>;
  readonly error?: unknown;
}

/** Passes the messages of the diagnostics channels to the recorder. The returned function stops that. */
export function listen(recorder: Recorder, { lines = false } = {}): () => void {
  const { creations, statements, transactions } = recorder;
  const handlers: Record<string, (message: Message & FindingMessage) => void> = {
    'ambit:scope:opened': ({ scope }) => recorder.scopeOpened(scope),
    'ambit:scope:closed': ({ scope }) => recorder.scopeClosed(scope),
    'ambit:instance:created': ({ scope, key, milliseconds }) => creations.created(scope, key, milliseconds),
    'ambit:transient:created': ({ scope, key, milliseconds }) => creations.transientCreated(scope, key, milliseconds),
    'ambit:creation:failed': ({ scope, key, error }) => creations.failed(scope, key, error),
    'ambit:instance:disposed': ({ scope, key, error }) => creations.disposed(scope, key, error),
    'ambit:statement:sent': ({ statement }) => statements.sent(statement),
    'ambit:statement:outside': (completed) => statements.outside(completed),
    'ambit:transaction:statement': (completed) => statements.inTransaction(completed.scope, completed),
    'ambit:transaction:refused': ({ parent, milliseconds, error }) => transactions.refused(parent, milliseconds, error),
    'ambit:transaction:acquired': ({ scope, milliseconds }) => transactions.acquired(scope, milliseconds),
    'ambit:transaction:begun': ({ scope, milliseconds }) => transactions.begun(scope, milliseconds),
    'ambit:transaction:finished': ({ scope, outcome, milliseconds, error }) =>
      transactions.finished(scope, outcome, milliseconds, error),
    'ambit:transaction:finding': (finding) => recorder.found(finding),
    ...(lines && { 'ambit:inspector:line': (line: Message) => recorder.line(line) }),
  };
  const listeners = Object.entries(handlers).map(
    ([name, handle]) => [name, (message: unknown) => handle(message as Message & FindingMessage)] as const,
  );
  for (const [name, listener] of listeners) subscribe(name, listener);
  return () => {
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  };
}
