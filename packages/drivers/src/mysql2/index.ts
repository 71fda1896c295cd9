import { type DatabasePool, TransactionError } from '@ambit/transaction';
import { checkCount, type DriverPoolOptions, MYSQL, poolOver, PositionalTexts } from '@ambit/transaction/extension';
import { MYSQL_LANGUAGE } from './language.js';
import { type Mysql2Pool, Mysql2Wire } from './wire.js';

export type { Mysql2Connection, Mysql2Pool } from './wire.js';

/** How many connections there may be, who may wait for one, and for how long. */
export interface Mysql2PoolOptions extends DriverPoolOptions {
  /** The `connectionLimit` of the mysql2 pool. Default 10, which is the default of mysql2. */
  readonly max?: number;
}

/**
 * A pool over mysql2, for MySQL and MariaDB. Statements have `$1 ... $n`, as everywhere; a statement that would make the
 * server commit the open transaction, such as CREATE TABLE, is refused inside of one.
 *
 * @param pool - what `createPool()` of `mysql2/promise` returned; `close()` ends it, unless `keepOpen` is set
 * @param options - how many connections there may be, who may wait for one, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { fromMysql2Pool, type Mysql2Pool } from '@ambit/drivers/mysql2';
 *
 * // mysql is createPool({ host: 'localhost', database: 'shop', connectionLimit: 8 }) of mysql2/promise.
 * const poolOver = (mysql: Mysql2Pool) => fromMysql2Pool(mysql, { max: 8 });
 * ```
 */
export function fromMysql2Pool(pool: Mysql2Pool, { max = 10, ...options }: Mysql2PoolOptions = {}): DatabasePool {
  checkCount('max', max, 1);
  if ('promise' in pool) {
    const what = 'fromMysql2Pool() needs a pool of mysql2/promise, and this one takes callbacks: pass pool.promise()';
    throw new TransactionError('AMBIT_OPTION', what);
  }
  const texts = new PositionalTexts(MYSQL);
  const driver = {
    language: MYSQL_LANGUAGE,
    max,
    connect: async () => new Mysql2Wire(await pool.getConnection(), pool, texts),
    close: () => pool.end(),
  };
  return poolOver(driver, options);
}
