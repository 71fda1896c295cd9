import { type Clock, systemClock } from '../clock.js';
import type { AfterBegin, IDatabasePool, IsolationLevel } from '../contract.js';
import { type AroundCheck, CHECKED } from '../events.js';
import { checkClock, checkCount, checkIsolation, checkTime, given } from '../options.js';
import { Pool } from '../pool/pool.js';
import { OuterTransaction } from './outer-transaction.js';
import { driverOf } from './wire.js';

/** The isolation level and the time limits of a sandbox. */
export interface SandboxOptions {
  /** The isolation of the one transaction that everything runs in. Default: that of the database. */
  readonly isolation?: IsolationLevel;
  /**
   * How long a caller waits for the sandbox's connection, and the sandbox for one of the pool. Default 2 s, which is less than
   * the time that test runners give a test.
   */
  readonly acquireTimeoutMs?: number;
  /** The number of callers that may wait for the sandbox's connection; the next is refused, with `AMBIT_TX_POOL_FULL`. Default 1000. */
  readonly maxWaiting?: number;
  /** The time that `rollback()` waits for work that has not released the connection, before it takes the connection away. Default 1 s. */
  readonly closeTimeoutMs?: number;
  /**
   * On PostgreSQL and MariaDB: how long a statement waits for a row that another sandbox has written. It then fails with SQLSTATE
   * 55P03. MariaDB counts in whole seconds. Default 2 s.
   */
  readonly lockTimeoutMs?: number;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

const DEFAULTS = {
  acquireTimeoutMs: 2000,
  maxWaiting: 1000,
  closeTimeoutMs: 1000,
  lockTimeoutMs: 2000,
  clock: systemClock,
} satisfies SandboxOptions;

export type SandboxSettings = typeof DEFAULTS & Pick<SandboxOptions, 'isolation'> & { readonly clock: Clock };

export function readSandboxOptions(options: SandboxOptions): SandboxSettings {
  for (const name of ['acquireTimeoutMs', 'closeTimeoutMs', 'lockTimeoutMs'] as const) checkTime(name, options[name]);
  checkCount('maxWaiting', options.maxWaiting, 0);
  checkIsolation(options.isolation);
  checkClock(options.clock);
  return { ...DEFAULTS, ...given(options) };
}

/**
 * A pool whose transactions can all be undone. Made by `sandbox()`.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { runInTransaction, type Work } from '@ambit/transaction';
 * import type { Sandbox } from '@ambit/transaction/testing';
 *
 * async function countOrdersAfter(box: Sandbox, work: Work<void>): Promise<unknown> {
 *   await using app = new Container();
 *   app.register('IDatabasePool', () => box);
 *   await runInTransaction(app, work);
 *   const [row] = await box.query('SELECT count(*) AS orders FROM orders');
 *   return row?.['orders'];
 * }
 * ```
 */
export class Sandbox extends Pool {
  /** @internal Call `sandbox()` instead. */
  constructor(outer: OuterTransaction, settings: SandboxSettings, afterBegin: AfterBegin | undefined) {
    // `afterBegin` is part of the BEGIN of every transaction in the sandbox.
    super(driverOf(outer), { ...settings, ...(afterBegin ? { afterBegin } : {}) });
  }

  /**
   * Undoes everything that happened in the sandbox, and returns its connection to the pool, as `close()` does. Waits for
   * connections in use, for `closeTimeoutMs` at most. Never rejects; a second call does nothing more.
   */
  rollback(): Promise<void> {
    return this.close();
  }
}

/**
 * A pool for one test, on the real database: everything runs in one transaction of one connection, which is never committed.
 * Transactions within it are savepoints, so code under test begins, commits and rolls back as usual, and sees its own data.
 * Nobody else does, and `rollback()` undoes all of it.
 *
 * @param pool - where the one connection is from; it is returned by `rollback()`
 * @param options - time limits, and the isolation level of the outermost transaction
 * @returns the sandbox, to register as `IDatabasePool`
 * @throws what `getConnection()` of the pool, and BEGIN on its connection, throw
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import type { IDatabasePool } from '@ambit/transaction';
 * import { sandbox } from '@ambit/transaction/testing';
 *
 * async function countAfter(pool: IDatabasePool, work: (pool: IDatabasePool) => Promise<void>): Promise<number> {
 *   await using box = await sandbox(pool);
 *   await work(box);
 *   return (await box.query('SELECT id FROM orders')).length;
 * }
 * ```
 */
export async function sandbox(pool: IDatabasePool, options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = readSandboxOptions(options);
  const check = Reflect.get(pool, CHECKED) as AroundCheck | undefined;
  const box = new Sandbox(await OuterTransaction.begin(check?.below ?? pool, settings), settings, pool.afterBegin);
  return check ? check.again(box) : box;
}
