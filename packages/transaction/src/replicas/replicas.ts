import type { IDatabasePool, PoolSize } from '../core/contract.js';
import { LagLimit } from './lag-limit.js';
import type { ReplicatedSettings } from './options.js';
import type { Position } from './position.js';
import { Replica } from './replica.js';

const EMPTY: PoolSize = { open: 0, idle: 0, waiting: 0 };

/** The servers that all sessions share. */
export class Replicas {
  readonly settings: ReplicatedSettings;
  readonly #replicas: readonly Replica[];
  readonly #lag: LagLimit;
  #next = 0;

  constructor(settings: ReplicatedSettings) {
    this.settings = settings;
    this.#replicas = settings.replicas.map((pool) => new Replica(pool, settings));
    this.#lag = new LagLimit(settings);
  }

  get primary(): IDatabasePool {
    return this.settings.primary;
  }

  get hasReplicas(): boolean {
    return this.#replicas.length > 0;
  }

  get size(): PoolSize {
    return this.#pools.reduce((sum, { size = EMPTY }) => {
      return { open: sum.open + size.open, idle: sum.idle + size.idle, waiting: sum.waiting + size.waiting };
    }, EMPTY);
  }

  /** Those that have replayed so far and are within the lag limit, in turn; none of them twice. */
  async *that(written: Position): AsyncGenerator<Replica> {
    if (!this.hasReplicas) return;
    const required = await this.#lag.required();
    const position = required > written ? required : written;
    const first = (this.#next += 1);
    for (let step = 0; step < this.#replicas.length; step += 1) {
      const replica = this.#replicas[(first + step) % this.#replicas.length];
      if (replica && (await replica.hasReplayed(position))) yield replica;
    }
  }

  async close(): Promise<void> {
    const results = await Promise.allSettled(this.#pools.map((pool) => pool.close()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  get #pools(): readonly IDatabasePool[] {
    return [this.primary, ...this.settings.replicas];
  }
}
