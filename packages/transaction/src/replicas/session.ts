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
import { executeOn } from '../core/execute-on.js';
import { codeOf, isRetryable } from '../core/sql-state.js';
import { readPosition, START, writePosition } from './position.js';
import { PrimaryConnection } from './primary-connection.js';
import type { Replica } from './replica.js';
import type { Replicas } from './replicas.js';
import { Written } from './written.js';

/** As a request has it in a header or a cookie. What is no token is ignored. */
export type Token = string | readonly string[] | null | undefined;

type Ask<T> = (connection: IPooledConnection) => Promise<T>;

/** A read failed for a reason that another server does not have. */
const ELSEWHERE: ReadonlySet<string> = new Set(['AMBIT_TX_CONNECTION_LOST', 'AMBIT_TX_READ_ONLY']);
/** No other server would give a connection either. */
const NOWHERE: ReadonlySet<string> = new Set(['AMBIT_TX_ABORTED', 'AMBIT_TX_OPTION', 'AMBIT_TX_POOL_CLOSED']);

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

  /** @internal */
  constructor(replicas: Replicas, token?: Token) {
    this.#replicas = replicas;
    this.#written = new Written(readPosition(token));
  }

  /** What the client may show with its next request, to any instance of the application; nothing where nothing was written. */
  get token(): string | undefined {
    const { position } = this.#written;
    return position === START ? undefined : writePosition(position);
  }

  get size(): PoolSize {
    return this.#replicas.size;
  }

  get afterBegin(): AfterBegin | undefined {
    return this.#replicas.primary.afterBegin;
  }

  async getConnection(options: AcquireOptions = {}): Promise<IPooledConnection> {
    // A standby has no serializable transactions.
    if (options.readOnly && options.isolation !== 'serializable') {
      for await (const replica of this.#candidates()) {
        try {
          return await replica.connect(options);
        } catch (error) {
          if (NOWHERE.has(codeOf(error))) throw error;
          replica.leaveOut();
        }
      }
    }
    return this.#primary(options);
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

  #candidates(): AsyncIterable<Replica> {
    return this.#replicas.that(this.#written.position);
  }

  async #ask<T extends object>({ readOnly = false }: QueryOptions = {}, ask: Ask<T>): Promise<T> {
    if (readOnly) {
      for await (const replica of this.#candidates()) {
        const result = await askReplica(replica, ask);
        if (result) return result;
      }
    }
    return askAndRelease(await this.#primary({ readOnly }), ask);
  }

  async #primary(options: AcquireOptions): Promise<IPooledConnection> {
    const { primary, settings, hasReplicas } = this.#replicas;
    const connection = await primary.getConnection(options);
    if (!hasReplicas) return connection;
    return new PrimaryConnection(connection, {
      clock: settings.clock,
      timeoutMs: settings.replicaTimeoutMs,
      readOnly: options.readOnly === true,
      written: () => this.#written.asking(),
    });
  }
}

/** Undefined where another server has to be asked. */
async function askReplica<T extends object>(replica: Replica, ask: Ask<T>): Promise<T | undefined> {
  let connection: IPooledConnection;
  try {
    connection = await replica.connect({});
  } catch (error) {
    if (NOWHERE.has(codeOf(error))) throw error;
    replica.leaveOut();
    return undefined;
  }
  try {
    return await askAndRelease(connection, ask);
  } catch (error) {
    // What the standby replays may cancel a read, and only there.
    if (isRetryable(error)) return undefined;
    if (!ELSEWHERE.has(codeOf(error))) throw error;
    replica.leaveOut();
    return undefined;
  }
}

async function askAndRelease<T>(connection: IPooledConnection, ask: Ask<T>): Promise<T> {
  try {
    return await ask(connection);
  } finally {
    connection.release();
  }
}
