import { settleWithin } from '../core/clock.js';
import { TransactionError } from '../core/errors.js';
import type { Settings } from '../core/options.js';
import { report } from '../core/report.js';

/** What a call needs of the settings of a transaction. */
type CallSettings = Pick<Settings, 'clock' | 'endTimeoutMs' | 'onError'>;

/**
 * Calls a callback whose failure changes no outcome, so it is reported and never thrown.
 *
 * @returns a promise that never rejects, where there is something to wait for: until the callback has settled, or its
 *   time is up
 */
export function callAndReport(call: () => unknown, settings: CallSettings): Promise<void> | undefined {
  const { clock, endTimeoutMs } = settings;
  const fail = (cause: unknown): void =>
    report(
      settings,
      new TransactionError('AMBIT_TX_CALLBACK_FAILED', 'A callback of the transaction failed', { cause }),
    );
  try {
    const result = call();
    if (!isThenable(result)) return undefined;
    return new Promise((resolve) => {
      const late = (): Error => new Error(`It has not settled within ${endTimeoutMs} ms`);
      settleWithin(clock, endTimeoutMs, result, late, (failure) => {
        if (failure) fail(failure.error);
        resolve();
      });
    });
  } catch (error) {
    fail(error);
    return undefined;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
