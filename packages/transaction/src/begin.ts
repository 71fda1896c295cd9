import type { IContainer } from '@ambit/container';
import type { AcquireOptions, IDatabasePool, IPooledConnection } from './contract.js';
import { aborted, asCoded } from './errors.js';
import { stopwatch, transactionAcquired, transactionRefused } from './events.js';
import { readOptions, type Settings, type TransactionOptions } from './options.js';
import { Transaction } from './transaction.js';

/**
 * Acquires a connection from the `IDatabasePool` of `parent`, opens a scope tagged `transaction` under it, registers
 * the connection there as `IConnection`, and begins. When it rejects, all of that is undone already.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { beginTransaction } from '@ambit/transaction';
 *
 * async function count(requestScope: IContainer): Promise<void> {
 *   const transaction = await beginTransaction(requestScope, { isolation: 'repeatable read', readOnly: true });
 *   await transaction.commit();
 * }
 * ```
 */
export async function beginTransaction(parent: IContainer, options: TransactionOptions = {}): Promise<Transaction> {
  const settings = readOptions(options);
  const transaction = await acquire(parent, settings, acquireOptions(settings));
  await transaction.begin();
  return transaction;
}

/** A transaction that has its connection and its scope, and nothing more yet. */
export async function acquire(parent: IContainer, settings: Settings, options: AcquireOptions): Promise<Transaction> {
  if (settings.signal?.aborted) throw aborted(settings.signal);
  const pool = parent.resolve<IDatabasePool>('IDatabasePool');
  const milliseconds = stopwatch(transactionAcquired);
  let connection: IPooledConnection;
  try {
    connection = await pool.getConnection(options);
  } catch (failure) {
    const error = asCoded(failure, 'AMBIT_TX_ACQUIRE_FAILED', 'No connection could be had');
    if (transactionRefused.hasSubscribers) {
      transactionRefused.publish({ parent, milliseconds: milliseconds(), error });
    }
    throw error;
  }
  const scope = openScope(parent, connection);
  if (transactionAcquired.hasSubscribers) {
    transactionAcquired.publish({ parent, scope, milliseconds: milliseconds() });
  }
  return new Transaction(scope, connection, settings);
}

function acquireOptions({ terms, signal, acquireTimeoutMs: timeoutMs }: Settings): AcquireOptions {
  return { ...terms, ...(signal ? { signal } : {}), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

function openScope(parent: IContainer, connection: IPooledConnection): IContainer {
  try {
    return parent.createScope({ tags: ['transaction'] });
  } catch (error) {
    // The parent ended while we waited for the connection, which is as good as new.
    connection.release();
    throw error;
  }
}
