import type { IContainer } from '@ambit/container';
import type {
  BeginOptions,
  ExecuteOptions,
  ExecuteResult,
  IConnection,
  IPooledConnection,
  Row,
} from './connection-contract.js';

/** How a connection is acquired, and for which transaction. */
export interface AcquireOptions extends BeginOptions {
  /** Stops the wait when it aborts. A pool around another passes on this same object: a copy of it may lack the signal. */
  readonly signal?: AbortSignal;
  /** How long to wait for a connection. Default: the pool's `acquireTimeoutMs`. */
  readonly timeoutMs?: number;
}

/** What a pool may assume about a single statement. */
export interface QueryOptions {
  /** The statement only reads, so that a replica may run it. Default false. */
  readonly readOnly?: boolean;
}

/**
 * Prepares a transaction, such as for row-level security.
 *
 * @example
 * ```ts
 * import type { AfterBegin } from '@ambit/transaction';
 *
 * const setTenant: AfterBegin = (connection, scope) =>
 *   connection.query("SELECT set_config('app.tenant', $1, true)", [scope.resolve<string>('ITenant')]);
 * ```
 */
export type AfterBegin = (connection: IConnection, scope: IContainer) => unknown;

/** How many connections a pool has. SQLite's connection for single reads is not counted. */
export interface PoolSize {
  /** How many connections exist. */
  readonly open: number;
  /** How many of them are not checked out. */
  readonly idle: number;
  /** How many callers wait for one. */
  readonly waiting: number;
}

/** The service registers one of these on the application as `IDatabasePool`. */
export interface IDatabasePool {
  /**
   * Checks a connection out. `isolation` and `readOnly` are a hint: a pool may keep other connections for readers, and hand out
   * one of a server that takes no writes.
   *
   * @param options - what it is for, how long to wait, and a signal that stops the wait
   * @returns a connection; its user releases it once
   * @throws `TransactionError` `AMBIT_TX_ACQUIRE_FAILED`: the pool could not connect
   * @throws `TransactionError` `AMBIT_TX_ACQUIRE_TIMEOUT` or `AMBIT_TX_POOL_FULL`: too many wait for too few connections
   * @throws `TransactionError` `AMBIT_TX_POOL_CLOSED`: the pool is closed
   * @throws `TransactionError` `AMBIT_TX_ABORTED`: the signal has aborted
   */
  getConnection(options?: AcquireOptions): Promise<IPooledConnection>;
  /**
   * Runs one statement on any connection, outside every transaction. `readOnly` is a hint as well: the statement may run where
   * no writes are taken.
   *
   * @param sql - one statement with `$1 ... $n`
   * @param params - the values of `$1 ... $n`
   * @param options - whether the statement only reads
   * @returns the rows that the statement gave, as objects
   * @throws what `getConnection()` of the pool and `query()` of a connection throw
   */
  query<R extends object = Row>(sql: string, params?: readonly unknown[], options?: QueryOptions): Promise<R[]>;
  /**
   * Runs one statement as `query()` does, and gives what that leaves out: how many rows it changed, its columns, rows as arrays.
   *
   * @param sql - one statement with `$1 ... $n`
   * @param params - the values of `$1 ... $n`
   * @param options - how rows and values are given, and whether the statement only reads
   * @returns the rows, and what the database said about them
   * @throws what `query()` throws
   * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: the pool or the database cannot do it
   */
  execute?<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions & QueryOptions,
  ): Promise<ExecuteResult<R>>;
  /** Refuses new callers, waits until the connections in use are released, then closes them all. */
  close(): Promise<void>;
  /** How many connections are open and idle, and how many callers wait. */
  readonly size?: PoolSize;
  /**
   * Part of every BEGIN on this pool: called before any other statement, with the connection of the transaction and its scope.
   * Its failure is that of BEGIN, and a retry calls it again. It is not called for `query()` and `getConnection()`.
   */
  readonly afterBegin?: AfterBegin | undefined;
}

/** A connection of a pool of this package: `execute()` is there. */
export interface DatabaseConnection extends Omit<IPooledConnection, 'execute'>, IConnection {}

/** A pool of this package: `execute()` is there, outside every transaction too. */
export interface DatabasePool
  extends Omit<IDatabasePool, 'execute'>, Required<Pick<IDatabasePool, 'execute'>>, AsyncDisposable {
  getConnection(options?: AcquireOptions): Promise<DatabaseConnection>;
}

declare global {
  /** Node's own, or the DOM's. Declared for a project that has the types of neither, which may then still use this package. */
  interface AbortSignal {}
}

declare module '@ambit/container' {
  interface ServiceMap {
    /** In a transaction scope: the connection that holds its open transaction. */
    IConnection: IConnection;
    /** On the application: where transactions get their connections. */
    IDatabasePool: IDatabasePool;
  }
}
