import { channel } from 'node:diagnostics_channel';

/** Nothing is published here. A tool binds an AsyncLocalStorage to it, which then has a value of its own for each transaction. */
const transactionContext = channel('ambit:transaction:context');

/**
 * Calls a function that begins a transaction and goes on in it, so that what the transaction check attaches to its
 * asynchronous context does not reach the caller. For authors of hosts; without a check it only calls the function.
 *
 * @param work - begins the transaction, and goes on in it
 * @param args - what it is called with
 * @returns what `work` returns
 * @throws what `work` throws
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { beginTransaction, inOwnContext } from '@ambit/transaction';
 *
 * async function transaction(requestScope: IContainer, next: () => Promise<void>): Promise<void> {
 *   const begun = await beginTransaction(requestScope);
 *   await next();
 *   await begun.commit();
 * }
 * const middleware = (requestScope: IContainer, next: () => Promise<void>): Promise<void> =>
 *   inOwnContext(transaction, requestScope, next);
 * ```
 */
export function inOwnContext<A extends unknown[], R>(work: (...args: A) => R, ...args: A): R {
  if (!transactionContext.hasSubscribers) return work(...args);
  return transactionContext.runStores<undefined, A, R>({}, work, undefined, ...args);
}
