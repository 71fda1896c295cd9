import { inspect } from 'node:util';
import {
  CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type Dialect,
  type DialectAdapter,
  type Driver,
  Kysely,
  type KyselyPlugin,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryExecutor,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import {
  type ExecuteOptions,
  type ExecuteResult,
  type IConnection,
  type IDatabasePool,
  type IPooledConnection,
  type MayExecute,
  type Transaction,
  TransactionError,
} from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import type { Savepoint } from '@ambit/transaction/extension';
import { queryErrorOf } from '../errors.js';
import { ownTransaction, ROWS_AT_A_TIME, rowsInChunks, within } from '../target.js';

const CHANGING: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);
export interface StatementMeans {
  readonly dialect: KyselyDialect;
  /** Passed to `execute()`. */
  readonly options?: ExecuteOptions;
  /** What the caller sees of an error. Default: an error with the fields of the driver's. */
  readonly errorOf?: (error: unknown, sql: string) => unknown;
}

async function send<R>(
  database: MayExecute,
  { sql, parameters }: CompiledQuery,
  { options, errorOf = queryErrorOf }: StatementMeans,
): Promise<QueryResult<R>> {
  try {
    return asKysely<R>(await executeOn(database, sql, parameters, options));
  } catch (error) {
    throw errorOf(error, sql);
  }
}

/** What Kysely takes for a connection of its own: for one query, or for one nested transaction after another. */
class ConnectionUse implements DatabaseConnection {
  readonly savepoint: Savepoint;
  readonly #connection: IConnection;
  readonly #means: StatementMeans;

  constructor({ connection, savepoint }: { connection: IConnection; savepoint: Savepoint }, means: StatementMeans) {
    this.#connection = connection;
    this.savepoint = savepoint;
    this.#means = means;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.savepoint.within(() => send<R>(this.#connection, query, this.#means));
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize = ROWS_AT_A_TIME): AsyncIterableIterator<QueryResult<R>> {
    // Only a SELECT can have a cursor, and only PostgreSQL has them.
    if (this.#means.dialect !== 'postgres' || query.query.kind !== 'SelectQueryNode') yield this.executeQuery<R>(query);
    else yield* this.#chunks<R>(query, chunkSize);
  }

  async *#chunks<R>({ sql, parameters }: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    const { options, errorOf = queryErrorOf } = this.#means;
    try {
      const chunks = rowsInChunks(this.#connection, sql, parameters, chunkSize, options);
      for await (const rows of within(this.savepoint, chunks)) yield { rows: rows as R[] };
    } catch (error) {
      throw errorOf(error, sql);
    }
  }
}

function asKysely<R>({ rows, rowCount, command, insertId }: ExecuteResult): QueryResult<R> {
  return {
    rows: rows as R[],
    ...(rowCount !== null && CHANGING.has(command) && { numAffectedRows: BigInt(rowCount) }),
    ...(insertId !== undefined && { insertId: BigInt(insertId) }),
  };
}

/**
 * Kysely's way to the connection of a transaction. A transaction of Kysely is a nested run: it cannot commit or roll back
 * the whole. Kysely's own provider and driver are not used, because they give no place for the code of a nested run to run in.
 */
class ScopedDriver implements Driver, ConnectionProvider {
  readonly #transaction: Transaction;
  readonly #means: StatementMeans;

  constructor(transaction: Transaction, means: StatementMeans) {
    this.#transaction = transaction;
    this.#means = means;
  }

  async provideConnection<T>(consumer: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    const use = this.#use();
    try {
      return await use.savepoint.within(() => consumer(use));
    } finally {
      use.savepoint.end();
    }
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#use();
  }

  beginTransaction(use: DatabaseConnection, { isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    return savepointOf(use).begin({ isolation: isolationLevel, readOnly: accessMode && accessMode === 'read only' });
  }

  commitTransaction(use: DatabaseConnection): Promise<void> {
    return savepointOf(use).release();
  }

  rollbackTransaction(use: DatabaseConnection): Promise<void> {
    return savepointOf(use).undo();
  }

  savepoint(use: DatabaseConnection, name: string): Promise<void> {
    return this.#command(use, 'savepoint', name);
  }

  rollbackToSavepoint(use: DatabaseConnection, name: string): Promise<void> {
    return this.#command(use, 'rollback to', name);
  }

  releaseSavepoint(use: DatabaseConnection, name: string): Promise<void> {
    return this.#command(use, 'release savepoint', name);
  }

  async init(): Promise<void> {}

  async releaseConnection(use: DatabaseConnection): Promise<void> {
    savepointOf(use).end();
  }

  /** The connection belongs to the transaction. */
  async destroy(): Promise<void> {}

  /** Kysely 0.27 exports nothing that would make a query for its own compiler. */
  async #command(use: DatabaseConnection, command: string, name: string): Promise<void> {
    const quote = this.#means.dialect === 'mysql' ? '`' : '"';
    await use.executeQuery(CompiledQuery.raw(`${command} ${quote}${name.replaceAll(quote, quote + quote)}${quote}`));
  }

  #use(): ConnectionUse {
    const { connection } = this.#transaction;
    return new ConnectionUse({ connection, savepoint: this.#transaction.createSavepoint() }, this.#means);
  }
}

/** Kysely hands back what `provideConnection()` or `acquireConnection()` gave it. */
function savepointOf(use: DatabaseConnection): Savepoint {
  return (use as ConnectionUse).savepoint;
}

/** The SQL that Kysely writes; `mysql` is that of MariaDB, too. */
export type KyselyDialect = 'postgres' | 'sqlite' | 'mysql';

/** `IConnection` takes `$1 ... $n` on every database. */
class NumberedMysqlCompiler extends MysqlQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `$${this.numParameters}`;
  }
}

class NumberedSqliteCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `$${this.numParameters}`;
  }
}

interface SharedParts {
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
  readonly createIntrospector: Dialect['createIntrospector'];
}

/** Made once, not per transaction: a compiler binds about a hundred functions, and keeps nothing from one query to the next. */
const DIALECTS: Readonly<Record<KyselyDialect, SharedParts>> = {
  postgres: {
    compiler: new PostgresQueryCompiler(),
    adapter: new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  },
  sqlite: {
    compiler: new NumberedSqliteCompiler(),
    adapter: new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  },
  mysql: {
    compiler: new NumberedMysqlCompiler(),
    adapter: new MysqlAdapter(),
    createIntrospector: (db) => new MysqlIntrospector(db),
  },
};

export function partsOf(dialect: KyselyDialect): SharedParts {
  if (Object.hasOwn(DIALECTS, dialect)) return DIALECTS[dialect];
  const known = Object.keys(DIALECTS).join(', ');
  throw new TransactionError('AMBIT_OPTION', `dialect must be one of ${known}, not ${inspect(dialect)}`);
}

/** A way to a pool, on which nothing begins a transaction. */
export abstract class StatementDriver implements Driver {
  abstract acquireConnection(): Promise<DatabaseConnection>;
  abstract beginTransaction(): Promise<never>;

  async releaseConnection(_connection: DatabaseConnection): Promise<void> {}
  async init(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  /** The container closes the pool. */
  async destroy(): Promise<void> {}
}

class PoolDriver extends StatementDriver implements ConnectionProvider {
  readonly #pool: IDatabasePool;
  readonly #means: StatementMeans;

  constructor(pool: IDatabasePool, means: StatementMeans) {
    super();
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

  override releaseConnection(connection: DatabaseConnection): Promise<void> {
    return (connection as OneConnection).release();
  }

  beginTransaction(): Promise<never> {
    return Promise.reject(ownTransaction('Kysely', 'kyselyOn'));
  }
}

/** Each statement goes to the pool by itself, which may run reads beside a writer or on a replica. */
export class AnyConnection implements DatabaseConnection {
  protected readonly pool: IDatabasePool;
  protected readonly means: StatementMeans;

  constructor(pool: IDatabasePool, means: StatementMeans) {
    this.pool = pool;
    this.means = means;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return send<R>(this.pool, query, this.means);
  }

  /** A cursor needs a transaction. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** A connection that is checked out for the first statement, so that a transaction is refused without a wait for the pool. */
class OneConnection extends AnyConnection {
  #connection: Promise<IPooledConnection> | undefined = undefined;

  override async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    this.#connection ??= this.pool.getConnection();
    return send<R>(await this.#connection, query, this.means);
  }

  async release(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    connection?.release();
  }
}

/** Single queries go to any connection of the pool; what asks for a connection gets one. */
class PoolExecutor extends DefaultQueryExecutor {
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

/** Kysely in a transaction, for `kyselyOn()` and for an ORM that is made of Kysely. */
export function kyselyIn<DB>(
  transaction: Transaction,
  means: StatementMeans,
  plugins: readonly KyselyPlugin[] = [],
): Kysely<DB> {
  const { compiler, adapter } = partsOf(means.dialect);
  const driver = new ScopedDriver(transaction, means);
  return kyselyWith(means.dialect, driver, new DefaultQueryExecutor(compiler, adapter, driver, [...plugins]));
}

export function kyselyOver<DB>(
  pool: IDatabasePool,
  means: StatementMeans,
  plugins: readonly KyselyPlugin[],
): Kysely<DB> {
  const any = new AnyConnection(pool, means);
  const driver = new PoolDriver(pool, means);
  const executor = new PoolExecutor(means.dialect, driver, { provideConnection: (use) => use(any) }, plugins);
  return kyselyWith(means.dialect, driver, executor);
}

function kyselyWith<DB>(name: KyselyDialect, driver: Driver, executor: QueryExecutor): Kysely<DB> {
  const { compiler, adapter, createIntrospector } = partsOf(name);
  const dialect = {
    createDriver: () => driver,
    createQueryCompiler: () => compiler,
    createAdapter: () => adapter,
    createIntrospector,
  };
  return new Kysely<DB>({ config: { dialect }, dialect, driver, executor });
}
