import { channel } from 'node:diagnostics_channel';

/** Nothing is published here: a transaction check binds its store to it. */
export const uncheckedContext = channel('ambit:transaction:unchecked');

/**
 * Calls a function in which the transaction check finds nothing, because what it does there is meant so. Without a check it
 * only calls the function.
 *
 * @param work - what may do what the check would report
 * @returns what `work` returns
 * @throws what `work` throws
 *
 * @example
 * ```ts
 * import type { IDatabasePool } from '@ambit/transaction';
 * import { unchecked } from '@ambit/transaction/check';
 *
 * // The attempt is recorded whether the transaction around it commits or not.
 * async function recordAttempt(pool: IDatabasePool, user: string): Promise<void> {
 *   await unchecked(() => pool.query('INSERT INTO attempts (user_id) VALUES ($1)', [user]));
 * }
 * ```
 */
export function unchecked<T>(work: () => T): T {
  return uncheckedContext.hasSubscribers ? uncheckedContext.runStores({}, work) : work();
}
