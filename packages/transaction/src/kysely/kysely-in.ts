import { DefaultQueryExecutor, Kysely, type KyselyPlugin } from 'kysely';
import type { Transaction } from '../transaction/transaction.js';
import { partsOf } from './dialects.js';
import { ScopedDriver, type StatementMeans } from './driver.js';

/** Kysely in a transaction, for `kyselyOn()` and for an ORM that is made of Kysely. */
export function kyselyIn<DB>(
  transaction: Transaction,
  means: StatementMeans,
  plugins: readonly KyselyPlugin[] = [],
): Kysely<DB> {
  const { compiler, adapter, createIntrospector } = partsOf(means.dialect);
  const driver = new ScopedDriver(transaction, means);
  const dialect = {
    createDriver: () => driver,
    createQueryCompiler: () => compiler,
    createAdapter: () => adapter,
    createIntrospector,
  };
  return new Kysely<DB>({
    config: { dialect },
    dialect,
    driver,
    executor: new DefaultQueryExecutor(compiler, adapter, driver, [...plugins]),
  });
}
