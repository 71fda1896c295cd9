import type { IContainer } from '@ambit/container';
import type { Transaction } from './transaction.js';

/** The same symbol in every copy of this package, so that copies in one tree find each other's transactions. */
export const TRANSACTION = Symbol.for('@ambit/transaction');

/** A transaction scope, or its `IConnection`. */
export interface OfTransaction {
  [TRANSACTION]?: Transaction;
}

/** A container that has `parent` tells which scope is around a scope; `IContainer` does not ask for it. */
type Scope = OfTransaction & { readonly parent?: unknown };

/**
 * The open or ended transaction that `scope` is in: its own, or that of an ancestor. Also while the scope is being
 * disposed and after that; of a scope below it in a container without a `parent` property, only before.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { transactionOf } from '@ambit/transaction';
 *
 * function notifyAfterCommit(scope: IContainer, notify: () => void): void {
 *   scope.defer?.(() => {
 *     if (transactionOf(scope)?.state === 'committed') notify();
 *   });
 * }
 * ```
 */
export function transactionOf(scope: IContainer): Transaction | undefined {
  for (let at: Scope | undefined = scope as Scope; at; at = at.parent as Scope | undefined) {
    if (at[TRANSACTION]) return at[TRANSACTION];
  }
  return 'parent' in scope ? undefined : transactionOfConnection(scope);
}

function transactionOfConnection(scope: IContainer): Transaction | undefined {
  // To ask is cheaper than to be told why not, but a container need not know how to answer.
  if (scope.has?.('IConnection') === false) return undefined;
  try {
    return scope.resolve<OfTransaction | undefined>('IConnection')?.[TRANSACTION];
  } catch {
    return undefined;
  }
}
