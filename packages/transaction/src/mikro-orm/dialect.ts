import type { CompiledQuery, Dialect, DialectAdapter, Driver, Kysely, QueryResult } from 'kysely';
import type { IDatabasePool } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { type KyselyDialect, partsOf } from '../kysely/dialects.js';
import { AnyConnection } from '../kysely/pool-driver.js';
import { driverErrorOf } from '../orm/errors.js';
import { ownTransaction } from '../orm/target.js';
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
    createDriver: () => new StatementDriver(pool, dialect),
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

class StatementDriver implements Driver {
  readonly #any: AnyConnection;

  constructor(pool: IDatabasePool, dialect: KyselyDialect) {
    this.#any = new WithoutForeignKeys(pool, { dialect, options: OPTIONS[dialect], errorOf: driverErrorOf });
  }

  async acquireConnection(): Promise<AnyConnection> {
    return this.#any;
  }

  beginTransaction(): Promise<void> {
    return Promise.reject(ownTransaction('MikroORM', 'mikroOrmOn'));
  }

  async init(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  /** The container closes the pool. */
  async destroy(): Promise<void> {}
}

class WithoutForeignKeys extends AnyConnection {
  override async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return query.sql === FOREIGN_KEYS ? { rows: [] } : super.executeQuery<R>(query);
  }
}
