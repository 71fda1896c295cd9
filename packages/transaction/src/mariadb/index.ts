import { type Clock, systemClock } from '../clock.js';
import type { DatabasePool } from '../contract.js';
import { TransactionError } from '../errors.js';
import { checkCount, checkTime } from '../options.js';
import { type DriverPoolOptions, readDriverOptions } from '../pool/options.js';
import { Pool } from '../pool/pool.js';
import { MYSQL } from '../sql/lexer.js';
import { PositionalTexts } from '../sql/positional.js';
import { Idle, type Mysql2Pool } from './connections.js';
import { isFatal, MYSQL_LANGUAGE, noConnection } from './language.js';
import { Mysql2Wire } from './wire.js';

export type { Mysql2Connection, Mysql2Pool } from './connections.js';

/** Limits: connections, callers that wait for one, and their wait. */
export interface Mysql2PoolOptions extends DriverPoolOptions {
  /** The `connectionLimit` of the mysql2 pool. Default 10, which is the default of mysql2. */
  readonly max?: number;
  /**
   * How long a statement may take. Then its connection is closed, and the server is asked to stop the statement. Set
   * `max_statement_time` of MariaDB lower: the server itself then stops a statement, and the connection is kept. Default: no limit.
   */
  readonly queryTimeoutMs?: number;
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
export function mysql2PoolOver(
  pool: Mysql2Pool,
  { max = 10, queryTimeoutMs = Infinity, ...options }: Mysql2PoolOptions = {},
): DatabasePool {
  checkCount('max', max, 1);
  checkTime('queryTimeoutMs', queryTimeoutMs);
  if ('promise' in pool) {
    const what = 'fromMysql2Pool() needs a pool of mysql2/promise, and this one takes callbacks: pass pool.promise()';
    throw new TransactionError('AMBIT_OPTION', what);
  }
  const { clock = systemClock } = options;
  const texts = new PositionalTexts(MYSQL);
  const shared = { pool, idle: new Idle(pool), sessions: new WeakMap(), texts, queryTimeoutMs, clock };
  const driver = {
    language: MYSQL_LANGUAGE,
    max,
    connect: () => Mysql2Wire.checkOut(shared),
    noConnection,
    close: (ms: number) => closeWithin(pool, ms, clock),
  };
  return new Pool(driver, readDriverOptions(options));
}

/** No connection is in use any more. */
const QUIT_MS = 200;

/** mysql2 waits until the server has closed each connection, and it may not respond any more. */
async function closeWithin(pool: Mysql2Pool, ms: number, clock: Clock): Promise<void> {
  // A connection that was still being made, or is lost, has nothing to close.
  const ended = pool.end().catch((error: unknown) => {
    if (!isFatal(error)) throw error;
  });
  await new Promise<void>((resolve, reject) => {
    const stopTimer = clock.setTimer(resolve, Math.min(ms, QUIT_MS));
    void ended.finally(stopTimer).then(resolve, reject);
  });
}
