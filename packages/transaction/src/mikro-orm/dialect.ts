import type { CompiledQuery, DatabaseConnection, Dialect, DialectAdapter, Driver, Kysely, QueryResult } from 'kysely';
import type { IDatabasePool } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { executeOn } from '../core/execute-on.js';
import { type KyselyDialect, partsOf } from '../kysely/dialects.js';
import { asKysely } from '../kysely/driver.js';
import { driverErrorOf } from '../orm/driver-error.js';
import { OPTIONS } from './types.js';

/**
 * What MikroORM sends when it connects to SQLite. Our pool has done it, and an ORM that connects in its first transaction
 * would wait here until that transaction has completed.
 */
const FOREIGN_KEYS = 'pragma foreign_keys = on';

/** A pool serves many at once, also of SQLite, where Kysely would let one caller after the other in. */
const ADAPTERS: Readonly<Record<KyselyDialect, DialectAdapter>> = {
  postgres: servingMany(partsOf('postgres').adapter),
  sqlite: servingMany(partsOf('sqlite').adapter),
};

function servingMany(adapter: DialectAdapter): DialectAdapter {
  return Object.create(adapter, { supportsMultipleConnections: { value: true } }) as DialectAdapter;
}

/** MikroORM's way to the database outside of transactions. */
export function dialectOver(pool: IDatabasePool, dialect: KyselyDialect): Dialect {
  const { compiler, createIntrospector } = partsOf(dialect);
  return {
    createDriver: () => new PoolDriver(pool, dialect),
    createQueryCompiler: () => compiler,
    createAdapter: () => ADAPTERS[dialect],
    createIntrospector,
  };
}

/** The dialect of an ORM that was opened with `dialectOver()`. */
export function dialectOf(client: Kysely<unknown>): KyselyDialect {
  const { adapter } = client.getExecutor();
  for (const dialect of ['postgres', 'sqlite'] as const) if (ADAPTERS[dialect] === adapter) return dialect;
  const what = 'mikroOrmOn() takes a MikroORM that was opened with the driverOptions of mikroOrmDialect()';
  throw new TransactionError('AMBIT_TX_OPTION', what);
}

class PoolDriver implements Driver {
  readonly #use: PoolUse;

  constructor(pool: IDatabasePool, dialect: KyselyDialect) {
    this.#use = new PoolUse(pool, dialect);
  }

  async acquireConnection(): Promise<PoolUse> {
    return this.#use;
  }

  beginTransaction(): Promise<void> {
    const what = 'MikroORM was about to begin a transaction of its own. Write with mikroOrmOn() instead';
    return Promise.reject(new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what));
  }

  async init(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  /** The container closes the pool. */
  async destroy(): Promise<void> {}
}

/** What Kysely takes for a connection: each statement goes to the pool by itself. */
class PoolUse implements DatabaseConnection {
  readonly #pool: IDatabasePool;
  readonly #dialect: KyselyDialect;

  constructor(pool: IDatabasePool, dialect: KyselyDialect) {
    this.#pool = pool;
    this.#dialect = dialect;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (sql === FOREIGN_KEYS) return { rows: [] };
    try {
      return asKysely<R>(await executeOn(this.#pool, sql, parameters, OPTIONS[this.#dialect]));
    } catch (error) {
      throw driverErrorOf(error);
    }
  }

  /** A cursor needs a transaction. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}
