import { openScopes } from '@ambit/container/tools';
import type { PoolSize } from '@ambit/transaction';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { listen } from './channels.js';
import type { Settings } from './options.js';
import { Recorder } from './recorder.js';
import type { RequestRecord } from './request-record.js';
import type { Hello, Tick } from './wire.js';

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
