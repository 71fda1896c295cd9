import { type Clock, systemClock } from '../clock.js';
import type { BeginOptions } from '../contract.js';
import { type TransactionError, warn } from '../errors.js';
import {
  checkBoolean,
  checkClock,
  checkFunction,
  checkIsolation,
  checkOneOf,
  checkSignal,
  checkTime,
  type DatabaseKeys,
  given,
  readKeys,
  type TransactionOptions,
} from '../options.js';

const NO_BEGIN_OPTIONS: BeginOptions = {};

/**
 * The options of transactions, checked once, for authors of hosts: a route makes them when it is added, and each of its
 * transactions begins with them.
 */
export interface TransactionSettings extends CheckedOptions {
  /**
   * The same settings for one request, or one run: for what differs between them, and is not checked again.
   *
   * @param own - what differs
   * @returns other settings
   */
  with(own: Pick<TransactionOptions, 'onError' | 'signal' | 'timeoutMs'>): TransactionSettings;
}

/** Makes the settings of transactions. */
export const TransactionSettings = {
  /**
   * Checks the options, and fills every gap.
   *
   * @param options - the options of the transactions
   * @returns the settings, which do not change with the options
   * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
   */
  of(options: TransactionOptions = {}): TransactionSettings {
    const { isolation: _isolation, readOnly: _readOnly, pool: _pool, connection: _connection, ...own } = options;
    for (const name of TIMES) checkTime(name, own[name]);
    checkOneOf('begin', own.begin, ['now', 'lazy']);
    checkSignal(own.signal);
    checkFunction('onError', own.onError);
    checkClock(own.clock);
    return { ...DEFAULTS, ...given(own), beginOptions: beginOptionsOf(options), database: readKeys(options) };
  },
};

/** Every option of a transaction, checked. */
interface CheckedOptions {
  /** The options that BEGIN is called with. */
  readonly beginOptions: BeginOptions;
  /** The keys of the pool and of the connection. */
  readonly database: Required<DatabaseKeys>;
  /** `undefined` where a host decides. */
  readonly begin: TransactionOptions['begin'];
  /** `undefined` where the pool decides. */
  readonly acquireTimeoutMs: number | undefined;
  /** The time until a transaction is rolled back. */
  readonly timeoutMs: number;
  /** The time that COMMIT and ROLLBACK have. */
  readonly endTimeoutMs: number;
  /** The time that a cancelled statement has to stop. */
  readonly cancelAfterMs: number;
  /** The source of timers. */
  readonly clock: Clock;
  /** Cancels the transaction. */
  readonly signal: AbortSignal | undefined;
  /** Receives errors that nobody else can receive. */
  readonly onError: (error: TransactionError) => void;
}

const TIMES = ['acquireTimeoutMs', 'timeoutMs', 'endTimeoutMs', 'cancelAfterMs'] as const;

const DEFAULTS = {
  begin: undefined,
  acquireTimeoutMs: undefined,
  timeoutMs: 30_000,
  endTimeoutMs: 10_000,
  cancelAfterMs: 100,
  clock: systemClock,
  signal: undefined,
  onError: warn,
  with(this: TransactionSettings, own: Pick<TransactionOptions, 'onError' | 'signal' | 'timeoutMs'>) {
    return { ...this, ...own };
  },
};

/** Absent rather than undefined where nothing was asked. */
function beginOptionsOf({ isolation, readOnly }: BeginOptions): BeginOptions {
  checkIsolation(isolation);
  checkBoolean('readOnly', readOnly);
  if (isolation === undefined) return readOnly === undefined ? NO_BEGIN_OPTIONS : { readOnly };
  return readOnly === undefined ? { isolation } : { isolation, readOnly };
}
