import { AsyncLocalStorage } from 'node:async_hooks';
import type { IContainer } from '@ambit/container';
import { TransactionError } from './errors.js';
import { Handle } from './handle.js';
import type { TransactionOptions } from './options.js';
import type { Transaction } from './transaction.js';

/** The nested run that the code now running belongs to: it tells a run within a run from two runs side by side. */
const current = new AsyncLocalStorage<{ readonly transaction: Transaction; readonly savepoint: string }>();

/**
 * The open or ended transaction that `scope` is in: its own, or that of an ancestor, whose `IConnection` it then sees.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { transactionOf } from '@ambit/transaction';
 *
 * function isOpen(scope: IContainer): boolean {
 *   return transactionOf(scope)?.state === 'open';
 * }
 * ```
 */
export function transactionOf(scope: IContainer): Transaction | undefined {
  // To ask is cheaper than to be told why not, but a container need not know how to answer.
  if (scope.has?.('IConnection') === false) return undefined;
  try {
    return Handle.transactionOf(scope.resolve('IConnection'));
  } catch {
    return undefined;
  }
}

/** Runs `work` so that it can fail alone: what it did is undone, and the transaction around it goes on. */
export async function runInSavepoint<T>(
  transaction: Transaction,
  work: () => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  refuseOtherOptions(transaction, options);
  refuseOverlap(transaction);
  const { connection, savepoints } = transaction;
  const savepoint = `ambit_${savepoints.length + 1}`;
  savepoints.push(savepoint);
  try {
    await connection.query(`SAVEPOINT ${savepoint}`);
    try {
      const result = await current.run({ transaction, savepoint }, work);
      await connection.query(`RELEASE SAVEPOINT ${savepoint}`);
      return result;
    } catch (error) {
      if (transaction.state === 'open') await undo(transaction, savepoint);
      throw error;
    }
  } finally {
    savepoints.pop();
  }
}

async function undo(transaction: Transaction, savepoint: string): Promise<void> {
  const { connection } = transaction;
  try {
    await connection.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
    await connection.query(`RELEASE SAVEPOINT ${savepoint}`);
  } catch (error) {
    // A commit may be waiting already. What was to be undone is still there, so it must not come to that.
    transaction.doom(error);
  }
}

/** A savepoint has no terms, time limits or retries of its own, and to ignore them would be to break a promise. */
function refuseOtherOptions({ settings: { terms, signal } }: Transaction, options: TransactionOptions): void {
  const same: Readonly<Record<string, unknown>> = { ...terms, signal };
  const asked: Readonly<Record<string, unknown>> = { ...options };
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined || value === same[name]) continue;
    throw new TransactionError('AMBIT_TX_NESTED', `A nested run cannot change ${name} of the transaction around it`);
  }
}

/** Side by side, the failure of the first would also undo what the second has done, although that one succeeded. */
function refuseOverlap(transaction: Transaction): void {
  const store = current.getStore();
  const around = store?.transaction === transaction ? store.savepoint : undefined;
  if (transaction.savepoints.at(-1) === around) return;
  throw new TransactionError('AMBIT_TX_NESTED', 'Two nested runs of one transaction overlap in time');
}
