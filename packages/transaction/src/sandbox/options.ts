import { type Clock, systemClock } from '../core/clock.js';
import type { IsolationLevel } from '../core/contract.js';
import { checkClock, checkCount, checkIsolation, checkTime, given } from '../core/options.js';

/** The isolation level and the time limits of a sandbox. */
export interface SandboxOptions {
  /** Of the one transaction that everything runs in. Default: that of the database. */
  readonly isolation?: IsolationLevel;
  /**
   * How long a caller waits for the sandbox's connection, and the sandbox for one of the pool. Default 2 s, which is less than
   * the time that test runners give a test.
   */
  readonly acquireTimeoutMs?: number;
  /** How many callers may wait for the sandbox's connection; the next is refused, with `AMBIT_TX_POOL_FULL`. Default 1000. */
  readonly maxWaiting?: number;
  /** How long `rollback()` waits for work that has not released the connection, before it takes the connection away. Default 1 s. */
  readonly closeTimeoutMs?: number;
  /**
   * On PostgreSQL: how long a statement waits for a row that another sandbox has written. It then fails with SQLSTATE 55P03.
   * Default 2 s.
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
