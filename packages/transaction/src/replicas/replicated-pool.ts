import type { IDatabasePool, PoolSize } from '../core/contract.js';
import type { ReplicatedSettings } from './options.js';
import { Primary } from './primary.js';
import { LagLimit, type Position, Replica } from './replica.js';
import { ReplicaSession, type Token } from './session.js';

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

/**
 * The pool that `createReplicatedPool()` makes. It is a session of its own: all that one process writes through it, it also
 * reads. A session for each request, job or user lets more reads go to the replicas.
 *
 * @example
 * ```ts
 * import type { ReplicatedPool } from '@ambit/transaction/replicas';
 *
 * // In a job, whose reads need not see what the rest of the process has just written.
 * async function countOrders(pool: ReplicatedPool): Promise<unknown> {
 *   const [row] = await pool.session().query('SELECT count(*) AS orders FROM orders', [], { readOnly: true });
 *   return row?.['orders'];
 * }
 * ```
 */
export class ReplicatedPool extends ReplicaSession implements AsyncDisposable {
  readonly #replicas: Replicas;
  #closing: Promise<void> | undefined = undefined;

  /** @internal Call `createReplicatedPool()` instead. */
  constructor(settings: ReplicatedSettings) {
    const replicas = new Replicas(settings);
    super(replicas);
    this.#replicas = replicas;
  }

  /** How many reads of all sessions came from where so far, for metrics. */
  get reads(): Readonly<Record<ReadSource, number>> {
    return this.#replicas.reads;
  }

  /**
   * A view of this pool that reads what was written through it, and before in the session that the token is of.
   *
   * @param token - the `token` of an earlier session, as the client sent it; anything else than a token is ignored
   * @returns the session, to register as `IDatabasePool` in the scope of a request; it needs no `close()`
   */
  session(token?: Token): ReplicaSession {
    return new ReplicaSession(this.#replicas, token);
  }

  /**
   * Closes the pools of all servers.
   *
   * @throws what `close()` of the first pool that failed to close throws, after all were asked to
   */
  override close(): Promise<void> {
    this.#closing ??= this.#replicas.close();
    return this.#closing;
  }

  /**
   * The same as `close()`, for `await using`.
   *
   * @throws what `close()` throws
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
