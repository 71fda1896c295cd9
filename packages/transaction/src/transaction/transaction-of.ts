import type { IContainer } from '@ambit/container';
import { TransactionError } from '../core/errors.js';
import { TRANSACTION } from './scoped-connection.js';
import type { Transaction } from './transaction.js';

/** A transaction scope, or its `IConnection`. */
interface OfTransaction {
  [TRANSACTION]?: Transaction;
}

/** `IContainer` does not require `parent`. */
type Scope = OfTransaction & { readonly parent?: unknown };

/**
 * The transaction that `scope` is in, open or completed: its own, or that of an ancestor. Also while the scope is disposed
 * and after that; for a scope below it in a container without a `parent` property, only before.
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
  // Cheaper than the error of resolve(), but a container need not have it.
  if (scope.has?.('IConnection') === false) return undefined;
  try {
    return scope.resolve<OfTransaction | undefined>('IConnection')?.[TRANSACTION];
  } catch {
    return undefined;
  }
}

/** Another copy of this package may have begun the transaction, and may be older. */
export function requireMember(transaction: Transaction, name: keyof Transaction): Transaction {
  if (name in transaction) return transaction;
  const what = `The transaction was begun by an older copy of @ambit/transaction, which has no ${name}`;
  throw new TransactionError('AMBIT_TX_VERSION', what);
}
