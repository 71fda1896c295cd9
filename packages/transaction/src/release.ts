import type { IPooledConnection } from './contract.js';
import { TransactionError } from './errors.js';
import { report, type Settings } from './options.js';

/** Never throws: the transaction is over, and its outcome stands. `doubt` is why the connection must not be used again. */
export function release(connection: IPooledConnection, doubt: Error | undefined, settings: Settings): void {
  callSafely(
    () => connection.release(doubt),
    (cause) =>
      report(settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', 'release() of the connection failed', { cause })),
  );
}

/** Calls a function of a foreign pool, which may throw, or be async and reject: neither may end the process. */
export function callSafely(call: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = call();
    if (result !== undefined) Promise.resolve(result).catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
