import type { IDatabasePool, PoolSize } from '../core/contract.js';
import { LagLimit } from './lag-limit.js';
import type { ReplicatedSettings } from './options.js';
import type { Position } from './position.js';
import { Primary } from './primary.js';
import { Replica } from './replica.js';

/** Where a read came from; `stale` is a replica that may lack what was written, because there was no primary to ask. */
export type ReadSource = 'primary' | 'replica' | 'stale';

const EMPTY: PoolSize = { open: 0, idle: 0, waiting: 0 };

/** The servers that all sessions share. */
export class Replicas {
  readonly settings: ReplicatedSettings;
  readonly primary: Primary;
  /** How many reads came from where. */
  readonly reads: Record<ReadSource, number> = { primary: 0, replica: 0, stale: 0 };
  readonly #replicas: readonly Replica[];
  readonly #lag: LagLimit;
  #next = 0;

  constructor(settings: ReplicatedSettings) {
    this.settings = settings;
    this.#replicas = settings.replicas.map((pool) => new Replica(pool, settings));
    this.primary = new Primary(settings);
    this.#lag = new LagLimit(settings, this.primary);
  }

  get arePreferred(): boolean {
    return this.#replicas.length > 0 && this.settings.prefer === 'replica';
  }

  get size(): PoolSize {
    return this.#pools.reduce((sum, { size = EMPTY }) => {
      return { open: sum.open + size.open, idle: sum.idle + size.idle, waiting: sum.waiting + size.waiting };
    }, EMPTY);
  }

  /** Those that have replayed so far and are within the lag limit, in turn; none of them twice. */
  async *that(written: Position): AsyncGenerator<Replica> {
    if (!this.arePreferred) return;
    const required = await this.#lag.required();
    const position = required > written ? required : written;
    for (const replica of this.#inTurn()) if (await replica.hasReplayed(position)) yield replica;
  }

  /** All that respond, those that have replayed so far first: for while there is nothing newer. */
  async *anyThatResponds(written: Position): AsyncGenerator<Replica> {
    const behind: Replica[] = [];
    for (const replica of this.#inTurn()) {
      if (await replica.hasReplayed(written)) yield replica;
      else behind.push(replica);
    }
    for (const replica of behind) if (replica.isThere) yield replica;
  }

  async close(): Promise<void> {
    const results = await Promise.allSettled(this.#pools.map((pool) => pool.close()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  get #pools(): readonly IDatabasePool[] {
    return [this.settings.primary, ...this.settings.replicas];
  }

  #inTurn(): readonly Replica[] {
    const first = (this.#next = (this.#next + 1) % Math.max(1, this.#replicas.length));
    return [...this.#replicas.slice(first), ...this.#replicas.slice(0, first)];
  }
}
