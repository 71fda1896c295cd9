import { acquire } from './acquire.js';
import { Acquisition } from './acquisition.js';
import { type Clock, startTimer } from './clock.js';
import type { IContainer } from '@ambit/container';
import { aborted } from './errors.js';
import { isRetryable } from './faults.js';
import { checkCount, checkTime, readOptions, type Settings, type TransactionOptions } from './options.js';
import { TimeLimit } from './time-limit.js';
import { transactionOf } from './transaction-of.js';
import type { Transaction } from './transaction.js';

export interface RunOptions extends TransactionOptions {
  /** How often to run the work again after a serialisation failure, a deadlock or a busy file. Default 3. */
  readonly retries?: number;
  /** The first pause between two attempts; it doubles, up to a second, and chance shortens it. Default 10 ms. */
  readonly backoffMs?: number;
}

/** What the work may want to know of its attempt. */
export interface Attempt {
  /** 1, 2, 3 ... */
  readonly number: number;
  /** Aborts once the end of this attempt was asked for and is a rollback, or unknown; not at a failed statement. */
  readonly signal: AbortSignal;
}

export type Work<T> = (scope: IContainer, attempt: Attempt) => Promise<T>;

const LONGEST_PAUSE_MS = 1000;

/**
 * Runs `work` in a transaction: a fresh transaction scope per attempt, committed when the work resolves, rolled back
 * when it rejects, unless the work has ended it by itself. It runs again only when the attempt was rolled back and the
 * database says that this can help (SQLSTATE 40001, 40P01, a busy file), so the work must have no effect outside of the
 * database. `timeoutMs` limits all attempts together.
 * Inside of a transaction scope it is a savepoint of that transaction instead, and until it has ended whatever is no part
 * of it is refused the connection, since its failure would undo that too. Options are then for the outermost run: to
 * repeat its `isolation`, `readOnly` or `signal` is allowed, anything else is refused.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 *
 * async function move(requestScope: IContainer): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const connection = scope.resolve<IConnection>('IConnection');
 *     await connection.query('UPDATE stock SET level = level - $1 WHERE product = $2', [1, 'apple']);
 *   }, { isolation: 'serializable', retries: 5 });
 * }
 * ```
 */
export async function runInTransaction<T>(scope: IContainer, work: Work<T>, options: RunOptions = {}): Promise<T> {
  const around = transactionOf(scope);
  if (around) return around.runNested(() => work(scope, new RunAttempt(1, around)), options);

  const { retries = 3, backoffMs = 10 } = options;
  checkCount('retries', retries, 0);
  checkTime('backoffMs', backoffMs);
  const settings = readOptions(options);
  const { clock, signal, timeoutMs } = settings;
  const limit = new TimeLimit(clock, timeoutMs);
  try {
    for (let number = 1; ; number += 1) {
      let transaction: Transaction | undefined;
      try {
        transaction = await acquireWithin(limit, scope, settings);
        return await runOnce(transaction, work, number, limit);
      } catch (error) {
        // The work may have committed before it failed.
        const isUndone = !transaction || transaction.state === 'rolled back';
        if (!isUndone || number > retries || !isRetryable(error)) throw error;
        const pause = clock.random() * Math.min(backoffMs * 2 ** (number - 1), LONGEST_PAUSE_MS);
        if (!limit.allows(pause)) throw limit.tooLate(error);
        await sleep(clock, pause, signal);
      }
    }
  } finally {
    limit.stop();
  }
}

async function runOnce<T>(transaction: Transaction, work: Work<T>, number: number, limit: TimeLimit): Promise<T> {
  limit.onPassed((error) => void transaction.rollback(error));
  await transaction.begin();
  try {
    const result = await raceEnd(transaction, work(transaction.scope, new RunAttempt(number, transaction)));
    await transaction.commit();
    return result;
  } catch (error) {
    await transaction.rollback(error);
    throw error;
  }
}

/** Waits for as long as the pool says, unless the time for all attempts is up before that. */
async function acquireWithin(limit: TimeLimit, parent: IContainer, settings: Settings): Promise<Transaction> {
  const acquisition = new Acquisition(settings);
  limit.onPassed((error) => acquisition.giveUp(error));
  try {
    // The one limit for all attempts takes the place of the transaction's own.
    return await acquire(parent, { ...settings, timeoutMs: Infinity }, acquisition);
  } catch (error) {
    throw limit.passed ?? error;
  }
}

class RunAttempt implements Attempt {
  readonly #transaction: Transaction;

  constructor(
    readonly number: number,
    transaction: Transaction,
  ) {
    this.#transaction = transaction;
  }

  get signal(): AbortSignal {
    return this.#transaction.signal;
  }
}

/** Work that does not notice the end of its transaction is left behind: its connection refuses it everything. */
function raceEnd<T>(transaction: Transaction, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    transaction.onLost(reject);
    work.then(resolve, reject);
  });
}

function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      signal?.removeEventListener('abort', stop);
      resolve();
    };
    const callOff = startTimer(clock, wake, ms);
    const stop = (): void => {
      callOff();
      if (signal) reject(aborted(signal));
    };
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
  });
}
