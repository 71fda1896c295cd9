import type { Failure } from '../clock.js';
import {
  type AcquireOptions,
  type AfterBegin,
  executeOn,
  type ExecuteOptions,
  type ExecuteResult,
  type IDatabasePool,
  type IPooledConnection,
  type PoolSize,
  type QueryOptions,
  type Row,
} from '../contract.js';
import { withCallersStack } from '../errors.js';
import { codeOf } from '../sql-state.js';
import type { ReplicatedSettings } from './options.js';
import { Primary, PrimaryConnection } from './primary.js';
import {
  type Ask,
  askAndRelease,
  askReplica,
  connectTo,
  LagLimit,
  type Position,
  readPosition,
  Replica,
  START,
  writePosition,
  Written,
} from './replica.js';

/** The source of a read; `stale` is a replica that may lack what was written, because there was no primary to ask. */
export type ReadSource = 'primary' | 'replica' | 'stale';

const EMPTY: PoolSize = { open: 0, idle: 0, waiting: 0, max: 0 };

/** A pool that does not say how many connections there may be has at least those that are open. */
function together(one: PoolSize, { open, idle, waiting, max = open }: PoolSize): PoolSize {
  return { open: one.open + open, idle: one.idle + idle, waiting: one.waiting + waiting, max: (one.max ?? 0) + max };
}

class Replicas {
  readonly settings: ReplicatedSettings;
  readonly primary: Primary;
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
    return this.#pools.reduce((sum, { size = EMPTY }) => together(sum, size), EMPTY);
  }

  /** The replicas that have replayed so far and are within the lag limit, in turn; none of them twice. */
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

/** The token as a request has it in a header or a cookie. A value that is no token is ignored. */
type Token = string | readonly string[] | null | undefined;

/** How a read is done on a server of either kind. */
interface Read<T> {
  /** Undefined where another server has to be asked. */
  readonly onReplica: (replica: Replica) => Promise<T | undefined>;
  readonly onPrimary: () => Promise<T>;
}

const FRESHEST_FIRST: readonly (ReadSource | undefined)[] = [undefined, 'primary', 'replica', 'stale'];

/**
 * The pool as one user, request or job sees it: it reads what it has written itself, and what the session of its token had.
 * Made by `ReplicatedPool.session()`. It holds nothing, so nothing needs to close it.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import type { ReplicatedPool } from '@ambit/transaction/replicas';
 *
 * function openSession(scope: IContainer, pool: ReplicatedPool, token: string | undefined): () => string | undefined {
 *   const session = pool.session(token);
 *   scope.register('IDatabasePool', () => session);
 *   return () => session.token;
 * }
 * ```
 */
export class ReplicaSession implements IDatabasePool {
  readonly #replicas: Replicas;
  readonly #written: Written;
  #readsFrom: ReadSource | undefined = undefined;

  /**
   * Tells if a read may come from a replica that lacks what was written, while no primary can be reached. At first what the option of
   * the pool says; `false` from when it is too late to tell the client, such as in the middle of a list.
   */
  staleReads: boolean;

  /** @internal */
  constructor(replicas: Replicas, token?: Token) {
    this.#replicas = replicas;
    this.#written = new Written(readPosition(token));
    this.staleReads = replicas.settings.staleReads;
  }

  /** The token that the client may send with its next request, to any instance of the application; nothing where nothing was written. */
  get token(): string | undefined {
    const { position } = this.#written;
    return position === START ? undefined : writePosition(position);
  }

  /** The source of the reads of this session so far: the least fresh of all. Undefined where none was `readOnly`. */
  get readsFrom(): ReadSource | undefined {
    return this.#readsFrom;
  }

  get size(): PoolSize {
    return this.#replicas.size;
  }

  get afterBegin(): AfterBegin | undefined {
    return this.#replicas.primary.afterBegin;
  }

  async getConnection(options: AcquireOptions = {}): Promise<IPooledConnection> {
    // A standby has no serializable transactions.
    if (!options.readOnly || options.isolation === 'serializable') return this.#primary(options);
    return this.#read({
      onReplica: (replica) => connectTo(replica, options),
      onPrimary: () => this.#primary(options),
    });
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[], options?: QueryOptions): Promise<R[]> {
    return this.#ask(options, (connection) => connection.query<R>(sql, params));
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions & QueryOptions,
  ): Promise<ExecuteResult<R>> {
    return this.#ask(options, (connection) => executeOn<R>(connection, sql, params, options));
  }

  /** Closes nothing: the `ReplicatedPool` closes the connections of all its sessions. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #ask<T extends object>({ readOnly = false }: QueryOptions = {}, ask: Ask<T>): Promise<T> {
    try {
      if (!readOnly) return await askAndRelease(await this.#primary({}), ask);
      return await this.#read({
        onReplica: (replica) => askReplica(replica, ask),
        onPrimary: () => this.#askPrimary(ask),
      });
    } catch (error) {
      throw withCallersStack(error);
    }
  }

  async #read<T>({ onReplica, onPrimary }: Read<T>): Promise<T> {
    const { primary } = this.#replicas;
    let failure: Failure | undefined;
    if (!primary.isAway || (await primary.isBack())) {
      for await (const replica of this.#replicas.that(this.#written.position)) {
        const result = await onReplica(replica);
        if (result !== undefined) return this.#came(result, 'replica');
      }
      try {
        return this.#came(await onPrimary(), 'primary');
      } catch (error) {
        if (!primary.isAway || !this.staleReads) throw error;
        failure = { error };
      }
    }
    if (this.staleReads) {
      for await (const replica of this.#replicas.anyThatResponds(this.#written.position)) {
        const result = await onReplica(replica);
        if (result !== undefined) return this.#came(result, 'stale');
      }
    }
    if (failure) throw failure.error;
    return this.#came(await onPrimary(), 'primary');
  }

  #came<T>(result: T, from: ReadSource): T {
    this.#replicas.reads[from] += 1;
    if (FRESHEST_FIRST.indexOf(from) > FRESHEST_FIRST.indexOf(this.#readsFrom)) this.#readsFrom = from;
    return result;
  }

  /** Acquired as for a write, because what the address leads to for a reader may be a standby that is behind. */
  async #askPrimary<T>(ask: Ask<T>, isRetry = false): Promise<T> {
    const { primary, settings } = this.#replicas;
    const since = settings.clock.now();
    try {
      const asking = primary.connect({}).then((connection) => askAndRelease(connection, ask));
      const result = await (settings.staleReads ? primary.unlessAway(asking) : asking);
      primary.responded();
      return result;
    } catch (error) {
      // One connection may be lost while the server is there.
      const mayBeThere = codeOf(error) === 'AMBIT_TX_CONNECTION_LOST' && !isRetry && !primary.isAway;
      if (settings.staleReads && mayBeThere) return this.#askPrimary(ask, true);
      primary.failed(error, since);
      throw error;
    }
  }

  async #primary(options: AcquireOptions): Promise<IPooledConnection> {
    const { primary, settings, arePreferred } = this.#replicas;
    const since = settings.clock.now();
    let connection: IPooledConnection;
    try {
      connection = await primary.connect(options);
    } catch (error) {
      primary.failed(error, since);
      throw error;
    }
    if (!arePreferred) return connection;
    return new PrimaryConnection(connection, {
      clock: settings.clock,
      timeoutMs: settings.replicaTimeoutMs,
      readOnly: options.readOnly === true,
      written: () => this.#written.asking(),
    });
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

  /** The reads of all sessions so far, counted by their source, for metrics. */
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
