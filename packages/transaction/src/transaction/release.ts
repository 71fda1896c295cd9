import type { IPooledConnection } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import type { Settings } from '../core/options.js';
import { report } from '../core/report.js';

/** Never throws: the transaction has completed, and its outcome stands. `broken` is why the connection must not be used again. */
export function release(connection: IPooledConnection, broken: Error | undefined, settings: Settings): void {
  callSafely(
    () => connection.release(broken),
    (cause) =>
      report(settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', 'release() of the connection failed', { cause })),
  );
}

/** Calls a function of a foreign pool, which may throw, or return a promise that rejects: neither may crash the process. */
export function callSafely(call: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = call();
    if (result !== undefined) Promise.resolve(result).catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
