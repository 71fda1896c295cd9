import { TransactionError } from './errors.js';
import { asNestedRun } from './nested-runs.js';
import type { TransactionOptions } from './options.js';
import type { Transaction } from './transaction.js';

/** Runs `work` so that it can fail alone: what it did is undone, and the transaction around it goes on. */
export async function runInSavepoint<T>(
  transaction: Transaction,
  work: () => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  refuseOtherOptions(transaction, options);
  const { connection, nestedRuns } = transaction;
  return asNestedRun(nestedRuns, async (savepoint) => {
    await connection.query(`SAVEPOINT ${savepoint}`);
    try {
      const result = await work();
      await connection.query(`RELEASE SAVEPOINT ${savepoint}`);
      return result;
    } catch (error) {
      if (transaction.state === 'open') await undo(transaction, savepoint);
      throw error;
    }
  });
}

async function undo(transaction: Transaction, savepoint: string): Promise<void> {
  const { connection } = transaction;
  try {
    await connection.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
  } catch (error) {
    // A commit may be waiting already, or a run within this one go on. What was to be undone is still there.
    return transaction.doom(error);
  }
  // Nothing is in it any more, so it may stay where this is refused.
  await connection.query(`RELEASE SAVEPOINT ${savepoint}`).catch(() => undefined);
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
