import { currentScope, type IContainer, runInScope } from '@ambit/container';
import { readKeys } from './options.js';
import { runInTransaction, type RunOptions } from './transaction/run-in-transaction.js';
import { isOpen, transactionAround } from './transaction/transaction-of.js';

/**
 * Wraps a function so that each call runs in a transaction of `currentScope()`, as `@Transactional` does elsewhere. While it
 * runs, `currentScope()` is the scope of the transaction, so that a transactional function called within it is a nested run.
 *
 * The current scope is that of `runInScope()`, of a host with `current: true`, or of `inScope()` with `current: true`. In an
 * `afterCommit` callback, where the transaction is over, it is the scope around that.
 *
 * @param fn - called again with the same arguments where the transaction is retried
 * @param options - those of `runInTransaction()`, such as `propagation` and `retries`
 * @returns a function with the parameters of `fn`; it keeps `this`
 * @throws what `runInTransaction()` throws; the function rejects with it
 * @throws `ContainerError` `AMBIT_NO_SCOPE`: no scope is current at the call; the function rejects with it
 *
 * @example
 * ```ts
 * import { currentScope } from '@ambit/container';
 * import type { IConnection } from '@ambit/transaction';
 * import { transactional } from '@ambit/transaction/transactional';
 *
 * const placeOrder = transactional(async (id: string): Promise<void> => {
 *   await currentScope().resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [id]);
 * }, { propagation: 'required' });
 * ```
 */
export function transactional<This, A extends unknown[], R>(
  fn: (this: This, ...args: A) => R | Promise<R>,
  options: RunOptions = {},
): (this: This, ...args: A) => Promise<R> {
  return async function inTransaction(this: This, ...args: A): Promise<R> {
    const work = (scope: IContainer): Promise<R> => runInScope(scope, async () => fn.apply(this, args));
    return runInTransaction(scopeToRunIn(currentScope(), options), work, options);
  };
}

/** A callback runs in the async context of the work that registered it, whose scope is disposed. */
function scopeToRunIn(scope: IContainer, options: RunOptions): IContainer {
  const around = transactionAround(scope, readKeys(options).connection);
  return around && !isOpen(around) ? around.parent : scope;
}
