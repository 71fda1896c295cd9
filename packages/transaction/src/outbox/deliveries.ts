import { inspect } from 'node:util';
import { startTimer } from '../core/clock.js';
import { TransactionError } from '../core/errors.js';
import { report } from '../core/report.js';
import { outboxDelivered, outboxFailed } from './channels.js';
import { backoff, type Deliver, type RelaySettings } from './options.js';
import type { Claimed, Released } from './store.js';

/** An error is stored for people to read, not to be parsed. */
const MAX_ERROR = 500;

/** The outcome of deliveries. */
interface Settled {
  /** Positions. */
  readonly delivered: number[];
  readonly released: Released[];
  /** The keys of what was delivered or failed too often: their next events may be claimed at once. */
  readonly freed: Set<string>;
}

const nothing = (): Settled => ({ delivered: [], released: [], freed: new Set() });

/** Delivers events that are claimed: those of one key one after another, those of different keys side by side. */
export class Deliveries {
  readonly #table: string;
  readonly #deliver: Deliver;
  readonly #settings: RelaySettings;
  readonly #onSettled: () => void;
  readonly #inProgress = new Set<AbortController>();
  /** Claimed and not settled, by position. */
  readonly #open = new Map<number, Claimed>();
  #stopped = false;
  #settled: Settled = nothing();

  constructor(table: string, deliver: Deliver, settings: RelaySettings, onSettled: () => void) {
    this.#table = table;
    this.#deliver = deliver;
    this.#settings = settings;
    this.#onSettled = onSettled;
  }

  /** How many further deliveries may begin. Events that wait for an earlier one of their key take no place. */
  get capacity(): number {
    return this.#stopped ? 0 : Math.max(0, this.#settings.concurrency - this.#inProgress.size);
  }

  get open(): readonly number[] {
    return [...this.#open.keys()];
  }

  /** Whether a delivery is in progress. */
  get busy(): boolean {
    return this.#inProgress.size > 0;
  }

  /** What the table does not have yet; the caller stores it, or puts it back. */
  takeSettled(): Settled {
    const settled = this.#settled;
    this.#settled = nothing();
    return settled;
  }

  putBack({ delivered, released, freed }: Settled): void {
    this.#settled.delivered.push(...delivered);
    this.#settled.released.push(...released);
    for (const key of freed) this.#settled.freed.add(key);
  }

  add(claimed: readonly Claimed[]): void {
    const lines = new Map<string | number, Claimed[]>();
    for (const one of claimed) {
      this.#open.set(one.position, one);
      const line = one.event.key ?? one.position;
      const before = lines.get(line);
      if (before) before.push(one);
      else lines.set(line, [one]);
    }
    for (const line of lines.values()) void this.#deliverInOrder(line);
  }

  /** Begins no delivery any more; events that wait for their turn are released. */
  stop(): void {
    this.#stopped = true;
  }

  abort(reason: unknown): void {
    for (const controller of this.#inProgress) controller.abort(reason);
  }

  async #deliverInOrder(line: readonly Claimed[]): Promise<void> {
    let isBlocked = false;
    for (const one of line) {
      if (this.#stopped || isBlocked) this.#release(one);
      else isBlocked = !(await this.#attempt(one));
    }
  }

  async #attempt(claimed: Claimed): Promise<boolean> {
    const start = performance.now();
    const { event, position, publishedAt } = claimed;
    try {
      await this.#inTime(claimed);
    } catch (error) {
      this.#fail(claimed, error, performance.now() - start);
      return false;
    }
    this.#settled.delivered.push(position);
    this.#settle(claimed, 'freed');
    if (outboxDelivered.hasSubscribers) {
      const now = performance.now();
      const times = { milliseconds: now - start, lag: now - publishedAt };
      outboxDelivered.publish({ table: this.#table, event, ...times });
    }
    return true;
  }

  /** A receiver may ignore its signal and never settle. */
  #inTime({ event }: Claimed): Promise<unknown> {
    const { clock, deliveryTimeoutMs } = this.#settings;
    const controller = new AbortController();
    const { signal } = controller;
    this.#inProgress.add(controller);
    const late = new TransactionError('AMBIT_TX_DELIVERY', `The receiver took longer than ${deliveryTimeoutMs} ms`);
    const stopTimer = startTimer(clock, () => controller.abort(late), deliveryTimeoutMs);
    return new Promise<unknown>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      (async () => this.#deliver(event, signal))().then(resolve, reject);
    }).finally(() => {
      stopTimer();
      this.#inProgress.delete(controller);
    });
  }

  #fail(claimed: Claimed, error: unknown, milliseconds: number): void {
    const { event, position } = claimed;
    // Aborted by the shutdown, which is not the fault of the receiver.
    if (this.#stopped) return this.#release(claimed);
    const dead = event.attempt >= this.#settings.maxAttempts;
    const delay = backoff(this.#settings, event.attempt);
    const failure = { position, attempts: event.attempt, error: textOf(error) };
    this.#settled.released.push(dead ? { ...failure, dead: 'yes' } : { ...failure, delay });
    this.#settle(claimed, dead ? 'freed' : 'waits');
    if (outboxFailed.hasSubscribers) {
      const retry = dead ? {} : { retryInMs: delay };
      outboxFailed.publish({ table: this.#table, event, milliseconds, error, dead, ...retry });
    }
    if (!dead) return;
    const what = `The event ${event.id} could not be delivered in ${event.attempt} attempts`;
    report(this.#settings, new TransactionError('AMBIT_TX_DEAD_LETTER', what, { cause: error }));
  }

  #release(claimed: Claimed): void {
    this.#settled.released.push({ position: claimed.position, attempts: claimed.event.attempt - 1 });
    this.#settle(claimed, 'waits');
  }

  #settle({ position, event: { key } }: Claimed, later: 'freed' | 'waits'): void {
    this.#open.delete(position);
    if (key !== undefined && later === 'freed') this.#settled.freed.add(key);
    this.#onSettled();
  }
}

function textOf(error: unknown): string {
  let text: string;
  try {
    text = error instanceof Error ? error.message : inspect(error);
  } catch {
    text = 'an error that cannot be read';
  }
  // PostgreSQL stores neither NUL nor half of a surrogate pair.
  return text
    .replaceAll('\0', '')
    .slice(0, MAX_ERROR)
    .replaceAll(/\p{Surrogate}/gu, '?');
}
