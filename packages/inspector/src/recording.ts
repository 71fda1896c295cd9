import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Container, Key } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import type { PoolSize } from '@ambit/transaction';
import type { Settings } from './options.js';
import { type FindingMessage, Recorder } from './recorder.js';
import type { RequestRecord } from './requests.js';
import type { Hello, Line, Outcome, Tick } from './wire.js';

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

/** Starts and stops a recorder. While none runs, no channel has a subscriber and no asynchronous context is kept. */
export class Recording {
  /** The recorder that runs. */
  current: Recorder | undefined;
  /** A new one for each recorder, because the requests of each are numbered from 1. */
  boot = '';
  readonly #settings: Settings;
  readonly #request = new AsyncLocalStorage<RequestRecord>();
  readonly #pool: () => PoolSize | undefined;
  #stopListening = (): void => undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#pool = poolOf(settings.container);
  }

  start(): void {
    if (this.current) return;
    const { container, lines } = this.#settings;
    const now = (): number => performance.now();
    const current = (): RequestRecord | undefined => this.#request.getStore();
    this.current = new Recorder(container, openScopes(container), { ...this.#settings, now, current });
    this.#stopListening = listen(this.current, { lines });
    this.boot = randomUUID().slice(0, 8);
  }

  stop(): void {
    this.current = undefined;
    this.#stopListening();
    this.#request.disable();
  }

  /** Runs the handlers of a request, so that what they do is recorded for it. */
  run(record: RequestRecord, next: () => void): void {
    this.#request.run(record, next);
  }

  hello(): Hello | undefined {
    const { limitMs, slowMs, keep, keepTrouble, always } = this.#settings;
    const settings = { limitMs, slowMs, keep, keepTrouble, always };
    return this.current && { boot: this.boot, ...settings, ...this.current.all(this.#pool()) };
  }

  tick(): Tick | undefined {
    return this.current?.tick(this.#pool());
  }
}

/** The size of the application's connection pool, if it has one that reports its size. */
function poolOf(container: Settings['container']): () => PoolSize | undefined {
  return () => {
    try {
      if (container.disposed || !container.has('IDatabasePool')) return undefined;
      const { size } = container.resolve<{ readonly size?: PoolSize }>('IDatabasePool' as string);
      return size && { open: size.open, idle: size.idle, waiting: size.waiting };
    } catch {
      return undefined;
    }
  };
}
