import {
  type CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type Driver,
  type KyselyPlugin,
  type QueryResult,
} from 'kysely';
import type { IDatabasePool, IPooledConnection } from '../core/contract.js';
import { ownTransaction } from '../orm/target.js';
import { type KyselyDialect, partsOf } from './dialects.js';
import { send, type StatementMeans } from './driver.js';

/** Kysely's way to a pool: it begins no transactions. */
export class PoolDriver implements Driver, ConnectionProvider {
  readonly #pool: IDatabasePool;
  readonly #means: StatementMeans;

  constructor(pool: IDatabasePool, means: StatementMeans) {
    this.#pool = pool;
    this.#means = means;
  }

  /** For `db.connection()`: its statements share a connection. */
  async provideConnection<T>(consumer: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    const connection = new OneConnection(this.#pool, this.#means);
    try {
      return await consumer(connection);
    } finally {
      await connection.release();
    }
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new OneConnection(this.#pool, this.#means);
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    return (connection as OneConnection).release();
  }

  beginTransaction(): Promise<void> {
    return Promise.reject(ownTransaction('Kysely', 'kyselyOn'));
  }

  async init(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  /** The container closes the pool. */
  async destroy(): Promise<void> {}
}

/** Each statement goes to the pool by itself, which may run reads beside a writer or on a replica. */
export class AnyConnection implements DatabaseConnection {
  readonly #pool: IDatabasePool;
  readonly #means: StatementMeans;

  constructor(pool: IDatabasePool, means: StatementMeans) {
    this.#pool = pool;
    this.#means = means;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return send<R>(this.#pool, query, this.#means);
  }

  /** A cursor needs a transaction. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** Checked out for the first statement, so that a transaction is refused without a wait for the pool. */
class OneConnection implements DatabaseConnection {
  readonly #pool: IDatabasePool;
  readonly #means: StatementMeans;
  #connection: Promise<IPooledConnection> | undefined = undefined;

  constructor(pool: IDatabasePool, means: StatementMeans) {
    this.#pool = pool;
    this.#means = means;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    this.#connection ??= this.#pool.getConnection();
    return send<R>(await this.#connection, query, this.#means);
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  async release(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    connection?.release();
  }
}

/** Single queries go to any connection of the pool; what asks for a connection gets one. */
export class PoolExecutor extends DefaultQueryExecutor {
  readonly #driver: PoolDriver;
  readonly #dialect: KyselyDialect;
  readonly #any: ConnectionProvider;
  readonly #single: DefaultQueryExecutor;

  constructor(dialect: KyselyDialect, driver: PoolDriver, any: ConnectionProvider, plugins: readonly KyselyPlugin[]) {
    const { compiler, adapter } = partsOf(dialect);
    super(compiler, adapter, driver, [...plugins]);
    this.#driver = driver;
    this.#dialect = dialect;
    this.#any = any;
    this.#single = new DefaultQueryExecutor(compiler, adapter, any, [...plugins]);
  }

  /** Kysely 0.29 also passes options. */
  override executeQuery<R>(...query: Parameters<DefaultQueryExecutor['executeQuery']>): Promise<QueryResult<R>> {
    return this.#single.executeQuery<R>(...query);
  }

  override stream<R>(...query: Parameters<DefaultQueryExecutor['stream']>): AsyncIterableIterator<QueryResult<R>> {
    return this.#single.stream<R>(...query);
  }

  override withPlugins(plugins: readonly KyselyPlugin[]): PoolExecutor {
    return this.#having([...this.plugins, ...plugins]);
  }

  override withPlugin(plugin: KyselyPlugin): PoolExecutor {
    return this.#having([...this.plugins, plugin]);
  }

  override withPluginAtFront(plugin: KyselyPlugin): PoolExecutor {
    return this.#having([plugin, ...this.plugins]);
  }

  override withoutPlugins(): PoolExecutor {
    return this.#having([]);
  }

  #having(plugins: readonly KyselyPlugin[]): PoolExecutor {
    return new PoolExecutor(this.#dialect, this.#driver, this.#any, plugins);
  }
}
