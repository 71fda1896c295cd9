import { DefaultQueryExecutor, type Driver, Kysely, type KyselyPlugin, type QueryExecutor } from 'kysely';
import type { IDatabasePool } from '../core/contract.js';
import type { Transaction } from '../transaction/transaction.js';
import { type KyselyDialect, partsOf } from './dialects.js';
import { ScopedDriver, type StatementMeans } from './driver.js';
import { AnyConnection, PoolDriver, PoolExecutor } from './pool-driver.js';

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

/** Kysely outside of transactions. */
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
