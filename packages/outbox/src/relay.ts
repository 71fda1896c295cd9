import { channel } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { type IDatabasePool, isRetryable, TransactionError } from '@ambit/transaction';
import { inWorkContext, report } from '@ambit/transaction/extension';
import { backoff, type Deliver, readRelayOptions, type RelayOptions, type RelaySettings } from './options.js';
import type { EventTable } from '@ambit/transaction/databases';
import { type Claimed, type Released, Store } from './store.js';

/** `{ table, event, milliseconds, lag }`, after the receiver took an event; `lag` is the milliseconds since it was published. */
const outboxDelivered = channel('ambit:outbox:delivered');
/** `{ table, event, milliseconds, error, dead, retryInMs? }`, after a delivery failed. */
const outboxFailed = channel('ambit:outbox:failed');
/** `{ table, pending, dead, lag }`, now and then; `lag` is the age of the oldest event that is pending, in milliseconds. */
const outboxBacklog = channel('ambit:outbox:backlog');

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

  /** The number of further deliveries that may begin. Events that wait for an earlier one of their key take no place. */
  get capacity(): number {
    return this.#stopped ? 0 : Math.max(0, this.#settings.concurrency - this.#inProgress.size);
  }

  get open(): readonly number[] {
    return [...this.#open.keys()];
  }

  /** True if a delivery is in progress. */
  get busy(): boolean {
    return this.#inProgress.size > 0;
  }

  /** Results that the table does not have yet; the caller stores them, or puts them back. */
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
    const stopTimer = clock.setTimer(() => controller.abort(late), deliveryTimeoutMs);
    const deliver = (): Promise<unknown> =>
      new Promise<unknown>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        (async () => this.#deliver(event, signal))().then(resolve, reject);
      });
    const observed = () => ({ name: `delivery of ${event.topic}`, by: this.#deliver });
    return inWorkContext(observed, deliver).finally(() => {
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

const SWEEP_EVERY_MS = 60_000;
const SWEEP_AT_ONCE = 1000;

/**
 * Delivers the events of one outbox until it is disposed. Any number of relays, in any number of processes, share the work.
 * Made by `relay()` of the outbox.
 *
 * @example
 * ```ts
 * import { lifetimes, onStart } from '@ambit/container';
 * import type { Deliver, Outbox } from '@ambit/outbox';
 *
 * declare const deliver: Deliver;
 * const { make, feature } = lifetimes('application', 'request', 'transaction');
 * // `app.start()` starts it, and `app.dispose()` disposes it.
 * const events = (outbox: Outbox) =>
 *   feature('events', {
 *     IOutboxRelay: make('application', () => outbox.relay(deliver)).pipe(onStart((relay) => relay.start())),
 *   });
 * ```
 */
export class Relay implements AsyncDisposable {
  readonly #table: string;
  readonly #settings: RelaySettings;
  readonly #store: Store;
  readonly #deliveries: Deliveries;
  #running: Promise<void> | undefined;
  #disposing: Promise<void> | undefined;
  #stopped = false;
  #woken = false;
  #wakeUp: () => void = () => undefined;
  /** Keys whose last event was settled since the last claim. */
  readonly #freed = new Set<string>();
  #renewAt = 0;
  #sweepAt = 0;
  #measureAt = 0;
  /** So that an outage of the database is reported once. */
  #isFailing = false;

  /** @internal Call `relay()` of the outbox instead. */
  constructor(
    pool: Pick<IDatabasePool, 'getConnection' | 'query'>,
    table: EventTable,
    deliver: Deliver,
    options: RelayOptions,
  ) {
    this.#table = table.name;
    this.#settings = readRelayOptions(options);
    this.#store = new Store(pool, table, this.#settings.claimMs);
    this.#deliveries = new Deliveries(table.name, deliver, this.#settings, () => this.wake());
  }

  /** Begins to deliver. Returns at once; a second call does nothing. */
  start(): void {
    if (!this.#stopped) this.#running ??= this.#run();
  }

  /** There may be new events: read the table soon, instead of at the next poll. Call it after COMMIT. */
  wake(): void {
    this.#woken = true;
    this.#wakeUp();
  }

  /** Completes the deliveries in progress, for `drainMs` at most, and releases what it has claimed. Never rejects. */
  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  /** The same as `dispose()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const isDone = await this.#pass();
      if (isDone) await this.#sleep();
    }
  }

  /** One round: what was settled is stored, and what is due is claimed. Returns whether nothing is left to do now. */
  async #pass(): Promise<boolean> {
    this.#woken = false;
    try {
      await this.#storeSettled();
      await this.#renew();
      const limit = this.#deliveries.capacity;
      let isMore = false;
      if (limit > 0) {
        const freed = [...this.#freed];
        const found = await this.#store.claim(limit, freed);
        for (const key of freed) this.#freed.delete(key);
        this.#deliveries.add(found.claimed);
        isMore = found.isMore;
      }
      await this.#maintain();
      this.#isFailing = false;
      return !isMore;
    } catch (error) {
      this.#reportOnce(error);
      return true;
    }
  }

  /** An outcome that cannot be stored now is stored in a later round; until then this relay does not deliver the event again. */
  async #storeSettled(): Promise<void> {
    const settled = this.#deliveries.takeSettled();
    const { delivered, released, freed } = settled;
    try {
      if (delivered.length > 0) await this.#store.delivered(delivered, this.#settings.keepDeliveredMs > 0);
      if (released.length > 0) await this.#store.release(released);
      for (const key of freed) this.#freed.add(key);
    } catch (error) {
      this.#deliveries.putBack(settled);
      throw error;
    }
  }

  async #renew(): Promise<void> {
    const { clock, claimMs } = this.#settings;
    const { open } = this.#deliveries;
    if (open.length === 0 || clock.now() < this.#renewAt) return;
    await this.#store.renew(open);
    this.#renewAt = clock.now() + claimMs / 4;
  }

  async #maintain(): Promise<void> {
    const { clock, keepDeliveredMs, measureMs } = this.#settings;
    const now = clock.now();
    if (keepDeliveredMs > 0 && now >= this.#sweepAt) {
      const isMore = await this.#store.sweep(keepDeliveredMs, SWEEP_AT_ONCE);
      if (!isMore) this.#sweepAt = now + Math.min(keepDeliveredMs, SWEEP_EVERY_MS);
    }
    if (outboxBacklog.hasSubscribers && now >= this.#measureAt) {
      this.#measureAt = now + measureMs;
      outboxBacklog.publish({ table: this.#table, ...(await this.#store.measure()) });
    }
  }

  /** Until the next poll, or until it is woken and has waited for further events. */
  async #sleep(): Promise<void> {
    const { pollMs, gatherMs, claimMs } = this.#settings;
    // A claim in progress is renewed in time, however seldom the table is read.
    if (!this.#woken) await this.#pause(Math.min(pollMs, claimMs / 4), true);
    if (this.#woken && !this.#stopped) await this.#pause(gatherMs, false);
  }

  #pause(ms: number, untilWoken: boolean): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stopTimer();
        this.#wakeUp = () => undefined;
        resolve();
      };
      const stopTimer = this.#settings.clock.setTimer(done, ms);
      this.#wakeUp = () => {
        if (untilWoken || this.#stopped) done();
      };
    });
  }

  async #dispose(): Promise<void> {
    const { clock, drainMs } = this.#settings;
    this.#stopped = true;
    this.#deliveries.stop();
    this.#wakeUp();
    await this.#running;
    const stopTimer = clock.setTimer(() => this.#deliveries.abort(new Error('The relay is shutting down')), drainMs);
    while (this.#deliveries.busy) await this.#settled();
    stopTimer();
    await this.#storeSettled().catch((error: unknown) => this.#reportOnce(error));
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => (this.#wakeUp = resolve));
  }

  #reportOnce(error: unknown): void {
    // Another transaction was in the way; the next round tries again.
    if (isRetryable(error) || this.#isFailing) return;
    this.#isFailing = true;
    report(
      this.#settings,
      new TransactionError('AMBIT_TX_RELAY', 'The outbox cannot be read or written', { cause: error }),
    );
  }
}
