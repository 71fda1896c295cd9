import type { ExecuteOptions, ExecuteResult, MayExecute, Row } from './contract.js';
import { TransactionError } from './errors.js';

/**
 * `execute()` of a pool or a connection that may lack it.
 *
 * @param database - a pool, or a connection checked out of it
 * @param sql - one statement with `$1 ... $n`
 * @param params - the values of `$1 ... $n`
 * @param options - how rows and values are given
 * @returns what `execute()` of it returns
 * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: it has no `execute()`
 *
 * @example
 * ```ts
 * import { executeOn, type IDatabasePool } from '@ambit/transaction';
 *
 * async function deleteExpired(pool: IDatabasePool): Promise<number> {
 *   const { rowCount } = await executeOn(pool, 'DELETE FROM sessions WHERE expires_at < $1', [Date.now()]);
 *   return rowCount ?? 0;
 * }
 * ```
 */
export function executeOn<R extends object = Row>(
  database: MayExecute,
  sql: string,
  params?: readonly unknown[],
  options?: ExecuteOptions,
): Promise<ExecuteResult<R>> {
  return database.execute ? database.execute<R>(sql, params, options) : Promise.reject(cannotExecute());
}

export function checkCanExecute(database: MayExecute): void {
  if (!database.execute) throw cannotExecute();
}

function cannotExecute(): TransactionError {
  const what = 'execute() was called, and this pool and its connections have only query()';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what);
}
