import type { Settings, TransactionOptions } from '../core/options.js';
import { refuseOtherOptions } from './savepoint.js';

/** Runs `work` as a part of the transaction: it cannot fail alone. Retries and time limits are those of the whole. */
export async function runJoined<T>(
  connection: { fail(error: unknown): void },
  work: () => Promise<T>,
  settings: Settings,
  { isolation, readOnly, signal }: TransactionOptions,
): Promise<T> {
  refuseOtherOptions(settings, { isolation, readOnly, signal });
  try {
    return await work();
  } catch (error) {
    connection.fail(error);
    throw error;
  }
}
