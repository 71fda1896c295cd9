import type { IContainer } from '@ambit/container';
import type { AcquireOptions, IDatabasePool, IPooledConnection } from './contract.js';
import { aborted, TransactionError } from './errors.js';
import { beginOptions, given, readOptions, type Settings, type TransactionOptions } from './options.js';
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
  if (settings.signal?.aborted) throw aborted(settings.signal);
  const connection = await acquire(parent.resolve<IDatabasePool>('IDatabasePool'), settings);
  const transaction = new Transaction(openScope(parent, connection), connection, settings);
  try {
    await transaction.begin();
    return transaction;
  } catch (error) {
    await transaction.rollback(error);
    throw asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'BEGIN failed');
  }
}

async function acquire(pool: IDatabasePool, settings: Settings): Promise<IPooledConnection> {
  const { signal, acquireTimeoutMs: timeoutMs } = settings;
  const options: AcquireOptions = given({ ...beginOptions(settings), signal, timeoutMs });
  try {
    return await pool.getConnection(options);
  } catch (error) {
    throw asCoded(error, 'AMBIT_TX_ACQUIRE_FAILED', 'No connection could be had');
  }
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

function asCoded(
  error: unknown,
  code: 'AMBIT_TX_ACQUIRE_FAILED' | 'AMBIT_TX_BEGIN_FAILED',
  what: string,
): TransactionError {
  const ours = error instanceof TransactionError && error.code !== 'AMBIT_TX_STATEMENT_FAILED';
  return ours ? error : new TransactionError(code, what, { cause: error });
}
