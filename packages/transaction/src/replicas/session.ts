import type {
  AcquireOptions,
  AfterBegin,
  ExecuteOptions,
  ExecuteResult,
  IDatabasePool,
  IPooledConnection,
  PoolSize,
  QueryOptions,
  Row,
} from '../core/contract.js';
import type { Failure } from '../core/clock.js';
import { executeOn } from '../core/execute-on.js';
import { codeOf } from '../core/sql-state.js';
import {
  type Ask,
  askAndRelease,
  askReplica,
  connectTo,
  readPosition,
  type Replica,
  START,
  writePosition,
  Written,
} from './replica.js';
import { PrimaryConnection } from './primary.js';
import type { ReadSource, Replicas } from './replicated-pool.js';

/** As a request has it in a header or a cookie. What is no token is ignored. */
export type Token = string | readonly string[] | null | undefined;

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
   * Whether a read may come from a replica that lacks what was written, while no primary can be reached. At first what the option of
   * the pool says; `false` from when it is too late to tell the client, such as in the middle of a list.
   */
  staleReads: boolean;

  /** @internal */
  constructor(replicas: Replicas, token?: Token) {
    this.#replicas = replicas;
    this.#written = new Written(readPosition(token));
    this.staleReads = replicas.settings.staleReads;
  }

  /** What the client may show with its next request, to any instance of the application; nothing where nothing was written. */
  get token(): string | undefined {
    const { position } = this.#written;
    return position === START ? undefined : writePosition(position);
  }

  /** Where the reads of this session came from so far: the least fresh of all. Undefined where none was `readOnly`. */
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
    if (!readOnly) return askAndRelease(await this.#primary({}), ask);
    return this.#read({
      onReplica: (replica) => askReplica(replica, ask),
      onPrimary: () => this.#askPrimary(ask),
    });
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
