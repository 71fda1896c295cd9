import { type Clock, systemClock } from '../clock.js';
import type { AfterBegin } from '../contract.js';
import { checkBoolean, checkClock, checkCount, checkFunction, checkTime, given } from '../options.js';

/** The options of every pool over a driver. */
export interface DriverPoolOptions {
  /** The time that a caller waits for a connection. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** The number of callers that may wait for a connection; the next is refused at once, with `AMBIT_TX_POOL_FULL`. Default 1000. */
  readonly maxWaiting?: number;
  /** The time that `close()` waits for connections in use. Default 10 s. */
  readonly closeTimeoutMs?: number;
  /** `close()` leaves the driver open, for others who use it. Default false: it is closed, too. */
  readonly keepOpen?: boolean;
  /** Part of every BEGIN on this pool, such as `set_config(..., true)` for row-level security. Default: nothing. */
  readonly afterBegin?: AfterBegin;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

/** The settings of a pool, whatever its driver takes besides. */
export type PoolSettings = Required<Omit<DriverPoolOptions, 'afterBegin' | 'keepOpen'>> &
  Pick<DriverPoolOptions, 'afterBegin' | 'keepOpen'>;

const DEFAULTS: PoolSettings = {
  acquireTimeoutMs: 5000,
  maxWaiting: 1000,
  closeTimeoutMs: 10_000,
  clock: systemClock,
};

export function readDriverOptions(options: DriverPoolOptions): PoolSettings {
  checkTime('acquireTimeoutMs', options.acquireTimeoutMs);
  checkTime('closeTimeoutMs', options.closeTimeoutMs);
  checkCount('maxWaiting', options.maxWaiting, 0);
  checkBoolean('keepOpen', options.keepOpen);
  checkFunction('afterBegin', options.afterBegin);
  checkClock(options.clock);
  return { ...DEFAULTS, ...given(options) };
}
