import { type ExecuteResult, type IDatabasePool, type IPooledConnection, TransactionError } from '@ambit/transaction';
import { executeOn, isTransactionControl } from '@ambit/transaction/extension';
import { driverErrorOf } from '../errors.js';
import { ownTransaction } from '../target.js';

type Callback<T> = (error: unknown, result?: T) => void;
type ConnectCallback = (error: unknown, client?: PooledClient, release?: (error?: unknown) => void) => void;

/** The part of the `pg` module that TypeORM uses. */
export interface PgModule {
  readonly Pool: new () => PgPool;
}

/** TypeORM's `DataSource` makes one of these instead of a pool of its own. */
class PgPool {
  readonly #pool: IDatabasePool;

  constructor(pool: IDatabasePool) {
    this.#pool = pool;
  }

  connect(onConnected: ConnectCallback): void {
    this.#pool.getConnection().then(
      (connection) => onConnected(undefined, new PooledClient(connection), () => connection.release()),
      (error: unknown) => onConnected(error),
    );
  }

  /** The pool reports its errors by itself. */
  on(): this {
    return this;
  }

  /** The container closes the pool. */
  end(callback: Callback<void>): void {
    callback(undefined);
  }
}

/** A connection outside of every transaction. */
class PooledClient {
  readonly #connection: IPooledConnection;

  constructor(connection: IPooledConnection) {
    this.#connection = connection;
  }

  /** Some of TypeORM's own statements at start-up come with a callback. */
  query(sql: string, paramsOrCallback?: unknown[] | Callback<ExecuteResult>): Promise<ExecuteResult> | undefined {
    if (typeof paramsOrCallback !== 'function') return this.#run(sql, paramsOrCallback);
    this.#run(sql).then(
      (result) => paramsOrCallback(undefined, result),
      (error: unknown) => paramsOrCallback(error),
    );
    return undefined;
  }

  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }

  async #run(sql: string, params?: readonly unknown[]): Promise<ExecuteResult> {
    if (isTransactionControl(sql)) throw ownTransaction('The DataSource', 'typeormOn');
    try {
      return await executeOn(this.#connection, sql, params);
    } catch (error) {
      throw driverErrorOf(error);
    }
  }
}

/** What `typeormDriver()` returns for `DataSource` to use as the module `pg`. */
export function pgModuleOver(pool: IDatabasePool): PgModule {
  const pgModule = {
    Pool: class extends PgPool {
      constructor() {
        super(pool);
      }
    },
    /** A `DataSource` for MySQL or MariaDB calls it. */
    createPool(): never {
      throw new TransactionError('AMBIT_OPTION', "typeormDriver() is for a DataSource of type 'postgres' only");
    },
  };
  return pgModule;
}
