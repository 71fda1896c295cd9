import type { IDatabasePool } from '../core/contract.js';
import { startTimer } from '../core/clock.js';
import { TransactionError } from '../core/errors.js';
import { report } from '../core/report.js';
import { isRetryable } from '../core/sql-state.js';
import { outboxBacklog } from './channels.js';
import { Deliveries } from './deliveries.js';
import { type Deliver, readRelayOptions, type RelayOptions, type RelaySettings } from './options.js';
import type { Statements } from './statements.js';
import { Store } from './store.js';

const SWEEP_EVERY_MS = 60_000;
const SWEEP_AT_ONCE = 1000;

/**
 * Delivers the events of one outbox until it is disposed. Any number of relays, in any number of processes, share the work.
 * Made by `relay()` of the outbox.
 *
 * @example
 * ```ts
 * import { type Container, onStart, Registration, singleton } from '@ambit/container';
 * import type { Deliver, Outbox } from '@ambit/transaction/outbox';
 *
 * // `app.start()` starts it, and `app.dispose()` disposes it.
 * function registerRelay(app: Container, outbox: Outbox, deliver: Deliver): void {
 *   app.addRegistration(
 *     Registration.fromFactory(() => outbox.relay(deliver))
 *       .pipe(singleton(), onStart((relay) => relay.start()))
 *       .to('IOutboxRelay'),
 *   );
 * }
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
    pool: Pick<IDatabasePool, 'query'>,
    { table, sql }: { readonly table: string; readonly sql: Statements },
    deliver: Deliver,
    options: RelayOptions,
  ) {
    this.#table = table;
    this.#settings = readRelayOptions(options);
    this.#store = new Store(pool, sql, this.#settings.claimMs);
    this.#deliveries = new Deliveries(table, deliver, this.#settings, () => this.wake());
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

  /** What cannot be stored now is stored in a later round; until then this relay does not deliver it again. */
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
      const stopTimer = startTimer(this.#settings.clock, done, ms);
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
    const stopTimer = startTimer(clock, () => this.#deliveries.abort(new Error('The relay is shutting down')), drainMs);
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
