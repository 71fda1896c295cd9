import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Container, Key } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { subscribeAll } from './channels.js';
import { blockedLoop } from './loop.js';
import type { Settings } from './options.js';
import { outboxOf } from './outbox.js';
import { outgoingCalls } from './outgoing.js';
import { type FindingMessage, Recorder } from './recorder.js';
import { PoolUsage } from './pool-usage.js';
import type { RequestRecord } from './requests.js';
import type { Definition } from './troubles.js';
import type { Hello, Line, Outcome, Tick } from './wire.js';

interface Message extends Line {
  readonly scope: Container;
  readonly parent: object;
  readonly key: Key;
  readonly pool: object;
  readonly milliseconds: number;
  readonly sql: string;
  readonly statement: object;
  readonly outcome: Exclude<Outcome, 'refused'>;
  readonly error?: unknown;
}

/** Passes the messages of the diagnostics channels to the recorder. The returned function stops that. */
export function listen(recorder: Recorder, { lines = false } = {}): () => void {
  const { creations, statements, transactions } = recorder;
  return subscribeAll<Message & FindingMessage>({
    'ambit:scope:opened': ({ scope }) => recorder.scopeOpened(scope),
    'ambit:scope:closed': ({ scope }) => recorder.scopeClosed(scope),
    'ambit:instance:created': ({ scope, key, milliseconds }) => creations.created(scope, key, milliseconds),
    'ambit:transient:created': ({ scope, key, milliseconds }) => creations.transientCreated(scope, key, milliseconds),
    'ambit:creation:failed': ({ scope, key, error }) => creations.failed(scope, key, error),
    'ambit:instance:disposed': ({ scope, key, error }) => creations.disposed(scope, key, error),
    'ambit:statement:sent': ({ statement }) => statements.sent(statement),
    'ambit:statement:outside': (completed) => statements.outside(completed),
    'ambit:transaction:statement': (completed) => statements.inTransaction(completed.scope, completed),
    'ambit:connection:acquired': ({ pool, milliseconds }) => transactions.checkedOut(pool, milliseconds),
    'ambit:connection:refused': ({ pool, milliseconds, error }) => transactions.checkedOut(pool, milliseconds, error),
    'ambit:handler:failed': ({ error }) => recorder.failed(error),
    'ambit:transaction:refused': ({ parent, milliseconds, error }) => transactions.refused(parent, milliseconds, error),
    'ambit:transaction:acquired': ({ scope, milliseconds }) => transactions.acquired(scope, milliseconds),
    'ambit:transaction:begun': ({ scope, milliseconds }) => transactions.begun(scope, milliseconds),
    'ambit:transaction:finishing': ({ scope }) => transactions.finishing(scope),
    'ambit:transaction:finished': ({ scope, outcome, milliseconds, error }) =>
      transactions.finished(scope, outcome, milliseconds, error),
    'ambit:transaction:finding': (finding) => recorder.found(finding),
    ...(lines && { 'ambit:inspector:line': (line: Message) => recorder.line(line) }),
  });
}

/** Starts and stops a recorder. While none runs, no channel has a subscriber and no asynchronous context is kept. */
export class Recording {
  /** The recorder that runs. */
  current: Recorder | undefined;
  /** A new one for each recorder, because the requests of each are numbered from 1. */
  boot = '';
  readonly #settings: Settings;
  readonly #request = new AsyncLocalStorage<RequestRecord>();
  readonly #pool: PoolUsage;
  readonly #definition: Definition | undefined;
  #stopListening = (): void => undefined;

  constructor(settings: Settings, definition?: Definition) {
    this.#settings = settings;
    this.#definition = definition;
    this.#pool = new PoolUsage(settings.container);
  }

  start(): void {
    if (this.current) return;
    const { container, lines } = this.#settings;
    const now = (): number => performance.now();
    const current = (): RequestRecord | undefined => {
      const record = this.#request.getStore();
      return record?.includes(now()) ? record : undefined;
    };
    const definition = this.#definition;
    const options = { ...this.#settings, now, current, ...(definition && { definition }) };
    this.current = new Recorder(container, openScopes(container), options);
    const stops = [
      listen(this.current, { lines }),
      outgoingCalls(this.current, { now, current }),
      outboxOf(this.current),
      this.#pool.watch(),
      blockedLoop(this.current),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop());
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

  /** Runs the work without recording the scopes that it opens. */
  unrecorded<T>(work: () => T): T {
    return this.current ? this.current.unrecorded(work) : work();
  }

  hello(): Hello | undefined {
    const { limitMs, slowMs, keep, keepTrouble, always } = this.#settings;
    const settings = { limitMs, slowMs, keep, keepTrouble, always };
    return this.current && { boot: this.boot, ...settings, ...this.current.all(this.#pool.now()) };
  }

  tick(): Tick | undefined {
    return this.current?.tick(this.#pool.take());
  }
}
