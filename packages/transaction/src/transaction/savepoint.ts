import type { IConnection } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import type { Settings, TransactionOptions } from '../core/options.js';
import { asNestedRun, type NestedRun } from './nested-runs.js';

/** What a nested run needs of the transaction around it. */
interface OuterTransaction {
  readonly connection: IConnection;
  readonly nestedRuns: NestedRun[];
  readonly settings: Settings;
  readonly state: string;
  markRollbackOnly(error: unknown): void;
}

/** Runs `work` so that it can fail alone: its statements are undone, and the transaction around it continues. */
export async function runInSavepoint<T>(
  outer: OuterTransaction,
  work: () => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  refuseOtherOptions(outer.settings, options);
  const { connection, nestedRuns } = outer;
  return asNestedRun(nestedRuns, async (savepoint) => {
    await connection.query(`SAVEPOINT ${savepoint}`);
    try {
      const result = await work();
      await connection.query(`RELEASE SAVEPOINT ${savepoint}`);
      return result;
    } catch (error) {
      if (outer.state === 'open') await undo(outer, savepoint);
      throw error;
    }
  });
}

async function undo(outer: OuterTransaction, savepoint: string): Promise<void> {
  const { connection } = outer;
  try {
    await connection.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
  } catch (error) {
    // A commit may be waiting already, or a run within this one may be in progress: the statements are not undone.
    return outer.markRollbackOnly(error);
  }
  // The savepoint is empty now, so it may stay where this is refused.
  await connection.query(`RELEASE SAVEPOINT ${savepoint}`).catch(() => undefined);
}

/** A savepoint has no isolation, time limits or retries of its own, so options that ask for others are refused. */
function refuseOtherOptions({ terms, database, signal }: Settings, options: TransactionOptions): void {
  const same: Readonly<Record<string, unknown>> = { ...terms, ...database, signal };
  const asked: Readonly<Record<string, unknown>> = { ...options };
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined || value === same[name]) continue;
    throw new TransactionError('AMBIT_TX_NESTED', `A nested run cannot change ${name} of the transaction around it`);
  }
}
