/// <reference lib="esnext.disposable" preserve="true" />
import type { IContainer } from '@ambit/container';
import { TransactionError } from './errors.js';

/** A row as it comes when the caller names no type of its own. */
export type Row = Record<string, unknown>;

/** How a transaction is isolated from others that run at the same time. On SQLite each level is `serializable`. */
export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable';

/** How a transaction begins. */
export interface BeginOptions {
  /** Default: what the database is configured for. */
  readonly isolation?: IsolationLevel;
  /** With `true` the database refuses writes in the transaction. Default: what the database is configured for. */
  readonly readOnly?: boolean;
}

/** How `execute()` gives its result. */
export interface ExecuteOptions {
  /** `array` gives each row as its values in the order of `fields`, which keeps columns of equal name apart. Default `object`. */
  readonly rowMode?: 'object' | 'array';
  /**
   * Parses the text of each value, in the shape of the `pg` driver; for the types without a parser, the driver's own is used.
   * Drivers without PostgreSQL's type numbers refuse it.
   */
  readonly types?: { getTypeParser(oid: number, format?: string): ((text: string) => unknown) | undefined };
  /** False where values are written into the text, so that it is hardly ever sent again: it is then not prepared. Default true. */
  readonly prepare?: boolean;
  /** The pool names its prepared statements by itself. */
  readonly name?: never;
}

/** The result of `execute()`. */
export interface ExecuteResult<R = Row> {
  /** The rows that the statement gave: objects, or arrays with `rowMode: 'array'`. */
  readonly rows: R[];
  /**
   * How many rows an INSERT, UPDATE or DELETE changed, with RETURNING or without, or a SELECT gave. `null` for any other
   * statement.
   */
  readonly rowCount: number | null;
  /** The first word of the statement as PostgreSQL reports it: `INSERT`, also where the text begins with `WITH`. */
  readonly command: string;
  /**
   * The id that an INSERT without RETURNING made. On SQLite: the rowid of the row stored last; beyond 2^53 the driver rounds it. On MySQL: the
   * first id that AUTO_INCREMENT gave.
   */
  readonly insertId?: number;
  /** The columns of the rows; none for a statement without rows. */
  readonly fields: readonly { readonly name: string; readonly dataTypeID?: number }[];
}

/**
 * The connection that holds the open transaction, which a repository injects as `IConnection`.
 *
 * @example
 * ```ts
 * import type { IConnection } from '@ambit/transaction';
 *
 * class OrderRepository {
 *   readonly #connection: IConnection;
 *   constructor(connection: IConnection) {
 *     this.#connection = connection;
 *   }
 *
 *   async find(id: string): Promise<{ id: string } | undefined> {
 *     const rows = await this.#connection.query<{ id: string }>('SELECT id FROM orders WHERE id = $1', [id]);
 *     return rows[0];
 *   }
 * }
 * ```
 */
export interface IConnection {
  /**
   * Begins a transaction on a connection that was checked out of a pool. The `IConnection` of a transaction scope refuses it:
   * its transaction is open already.
   *
   * @param options - the isolation level, and whether the transaction only reads
   * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: a transaction is open, or this is the `IConnection` of a transaction scope
   */
  beginTransaction(options?: BeginOptions): Promise<void>;
  /**
   * Commits the transaction; the `IConnection` of a transaction scope completes the whole transaction. It rejects unless the
   * database said COMMIT. An SQLSTATE says that nothing was stored, but for those of a lost connection, server or disk (class 08
   * but 08003 and 08P01, 57P, 58, XX, and 40003): then nobody knows.
   */
  commit(): Promise<void>;
  /** Rolls the transaction back; the `IConnection` of a transaction scope completes the whole transaction. */
  rollback(): Promise<void>;
  /**
   * Runs one statement. Savepoints are statements like any other; BEGIN, COMMIT and ROLLBACK are refused.
   *
   * @param sql - one statement with `$1 ... $n`
   * @param params - the values of `$1 ... $n`
   * @returns the rows that the statement gave, as objects
   * @throws `TransactionError` `AMBIT_TX_STATEMENT_FAILED`: the database refused the statement; `sqlState` says why
   * @throws `TransactionError` `AMBIT_TX_PARAMETER` or `AMBIT_TX_CONTROL_STATEMENT`: the statement was not sent
   * @throws `TransactionError` `AMBIT_TX_FAILED`, `AMBIT_TX_NESTED`, `AMBIT_TX_FINISHED` or `AMBIT_TX_ABORTED`: the transaction can only
   *   roll back, a nested run is in progress, or the transaction has completed
   * @throws `TransactionError` `AMBIT_TX_CONNECTION_LOST`: the connection to the database was lost
   */
  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]>;
  /**
   * Runs one statement, and gives what `query()` leaves out: how many rows it changed, its columns, and rows as arrays.
   *
   * @param sql - one statement with `$1 ... $n`
   * @param params - the values of `$1 ... $n`
   * @param options - how rows and values are given
   * @returns the rows, and what the database said about them
   * @throws what `query()` throws
   * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: the pool or the database cannot do it
   *
   * @example
   * ```ts
   * import type { IConnection } from '@ambit/transaction';
   *
   * async function cancelOrder(connection: IConnection, id: string, version: number): Promise<boolean> {
   *   const sql = 'UPDATE orders SET cancelled = 1, version = version + 1 WHERE id = $1 AND version = $2';
   *   const { rowCount } = await connection.execute(sql, [id, version]);
   *   return rowCount === 1;
   * }
   * ```
   */
  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>>;
}

/** The part that a pool or a connection may lack: pools of others may be older than `execute()`. `executeOn()` says so in its error. */
export type MayExecute = Partial<Pick<IConnection, 'execute'>>;

/** A connection checked out of a pool. Its user releases it once. */
export interface IPooledConnection extends Omit<IConnection, 'execute'>, MayExecute {
  /**
   * Returns the connection to the pool.
   *
   * @param destroy - `true` or an error where the connection may be broken: it is closed instead. Default false
   * @throws `TransactionError` `AMBIT_TX_FINISHED`: it was released before
   */
  release(destroy?: boolean | Error): void;
  /** Asks the database to cancel the statement in progress. The connection must be destroyed afterwards. */
  cancel?(): void;
  /**
   * True where every call but `beginTransaction()` has finished when it returns, as on SQLite. Then no response can fail to
   * arrive, so no time limit runs. That the database runs in this process is not enough.
   */
  readonly synchronous?: boolean;
  /**
   * A statement that gives the level of the open transaction, as the column `isolation` of one row; `$1` is the level that a nested
   * run asks for. It is sent where the transaction was begun without one. Default: none, and such a nested run is refused.
   */
  readonly isolationSql?: string | undefined;
}

/** How a connection is acquired, and for which transaction. */
export interface AcquireOptions extends BeginOptions {
  /** Stops the wait when it aborts. A pool around another passes on this same object: a copy of it may lack the signal. */
  readonly signal?: AbortSignal;
  /** The longest wait for a connection. Default: the pool's `acquireTimeoutMs`. */
  readonly timeoutMs?: number;
}

/** Assumptions that a pool may make about a single statement. */
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
  /** The number of connections that exist. */
  readonly open: number;
  /** How many of them are not checked out. */
  readonly idle: number;
  /** The number of callers that wait for one. */
  readonly waiting: number;
  /** The most connections that may be open. */
  readonly max?: number;
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
   * @throws `TransactionError` `AMBIT_OPTION`: `timeoutMs` is no number of milliseconds
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
  /** The number of connections that are open and idle, and how many callers wait. */
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

/**
 * `execute()` of a pool or a connection that may lack it.
 *
 * @param database - a pool, or a connection checked out of it
 * @param sql - one statement with `$1 ... $n`
 * @param params - the values of `$1 ... $n`
 * @param options - how rows and values are given
 * @returns what `execute()` of it returns
 * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: it has no `execute()`
 */
export function executeOn<R extends object = Row>(
  database: MayExecute,
  sql: string,
  params?: readonly unknown[],
  options?: ExecuteOptions,
): Promise<ExecuteResult<R>> {
  return database.execute ? database.execute<R>(sql, params, options) : Promise.reject(cannotExecute());
}

export function cannotExecute(): TransactionError {
  const what = 'execute() was called, and this pool and its connections have only query()';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what);
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
